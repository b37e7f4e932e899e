//! Ctrl-C and Ctrl-Break, through ctrlc. There is nothing like SIGUSR1.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use evserver_hosted::StopHandle;

/// Has Ctrl-C stop a server from now on: the first one drains, a second one ends at once.
pub fn obey(stop: StopHandle) -> io::Result<()> {
    let stopping = AtomicBool::new(false);
    let handler = move || {
        if stopping.swap(true, Ordering::AcqRel) {
            stop.stop_now();
        } else {
            stop.drain();
        }
    };
    ctrlc::set_handler(handler).map_err(io::Error::other)
}
