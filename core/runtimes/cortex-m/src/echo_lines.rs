//! As `echo_bytes`, with the core and its numbered echo: the difference in size is what they cost.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod port;
mod talk;

use core::hint::black_box;

use cortex_m_rt::entry;
use evserver_core::{Buffers, Interest, Time};
use port::Port;
use talk::{Event, Wire, talk};

impl Wire for Port {
    fn wait(&mut self, _: Interest, deadline: Option<Time>) -> Event {
        match black_box(deadline) {
            Some(moment) => Event::Deadline(moment),
            None => Event::Ready(black_box(Time::from_ms(0))),
        }
    }
}

#[entry]
fn main() -> ! {
    static mut BUFFERS: Buffers = Buffers::new();
    let mut port = Port::open();
    loop {
        black_box(talk(&mut port, BUFFERS));
    }
}
