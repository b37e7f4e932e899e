//! Replays the transcripts on a Cortex-M, in every way in which the bytes could be cut, and says what it found.
//!
//! No operating system, no allocator, 64 KiB of memory. `.ci/bare-metal` builds it and runs it in QEMU.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod conversation;
mod panic;
mod peer;
mod silence;
#[allow(unsafe_code)]
mod sys;
mod talk;

use conversation::ALL;
use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use evserver_core::{Buffers, Connection, NumberedEcho};
use peer::{Peer, Way};
use talk::talk;

#[entry]
fn main() -> ! {
    // Such a local of the entry function is a static. This is all the memory for bytes that the device has.
    static mut BUFFERS: Buffers = Buffers::new();
    let passed = replay(BUFFERS) && silence(BUFFERS);
    debug::exit(if passed { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    panic!("there is no debugger that ends the program");
}

fn replay(buffers: &mut Buffers) -> bool {
    let top = sys::paint_stack();
    let (mut replays, mut bytes) = (0, 0);
    for conversation in ALL {
        for way in Way::all(conversation) {
            let mut peer = Peer::new(conversation, way);
            let reason = talk(&mut peer, buffers);
            if let Err(difference) = peer.verdict(reason) {
                hprintln!("FAILED {}, {}: {}", conversation.name, way, difference);
                return false;
            }
            replays += 1;
            bytes += peer.moved() as u64;
        }
    }
    // Before anything is printed, which takes more of it.
    let stack = sys::stack_used(top);
    hprintln!("replayed {} transcripts {}: every split, byte by byte, every size of write", ALL.len(), replays);
    hprintln!("bytes {} moved, every reply as written", bytes);
    hprintln!("connection {} bytes", size_of::<Connection<NumberedEcho, &mut Buffers>>());
    hprintln!("buffers {} bytes while it is busy", size_of::<Buffers>());
    hprintln!("stack {} bytes", stack);
    true
}

fn silence(buffers: &mut Buffers) -> bool {
    let passed = silence::ends_at_the_limit(buffers);
    if !passed {
        hprintln!("FAILED a silent peer is not closed at the idle limit");
    }
    passed
}
