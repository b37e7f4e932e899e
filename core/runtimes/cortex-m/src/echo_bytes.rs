//! Sends back what comes, byte for byte: what there is of a program before the core is in it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod port;

use cortex_m_rt::entry;
use evserver_core::{Io, Transport};
use port::Port;

#[entry]
fn main() -> ! {
    let mut port = Port::open();
    let mut byte = [0];
    loop {
        while let Io::Moved(_) = port.receive(&mut byte) {
            port.send(&byte);
        }
        port.shutdown_write();
    }
}
