//! The system calls of the kqueue shell: every `unsafe` of it, and in what the systems differ.

mod accept;
#[cfg(emulated)]
pub mod emulated;
mod queue;
mod signals;
mod socket;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use evserver_core::Time;
use libc::c_int;

pub use accept::accept;
pub use queue::{Change, Filter, Kevent, Kqueue};
pub use signals::{
    REPORT_SIGNALS, SignalAction, SignalSet, block_signals, catch_signal, is_ignored, pending_signals,
    restore_signal, restore_signals, send_to_self, unblock_signals,
};
#[cfg(test)]
pub use signals::{is_blocked, is_default, send_to_this_thread};
pub use socket::{receive, send, shutdown_both, shutdown_write};

/// Turns the -1 of a system call into the error that errno names.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Owns a descriptor that a system call has just made.
fn owned(result: c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the call that returned `fd` made it for us (its man page), and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The monotonic clock in whole milliseconds, rounded down: clock_gettime(2).
pub fn now() -> Time {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes one timespec. It cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Time::from_ms(now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000)
}
