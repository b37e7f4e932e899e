//! The emulated kqueue against the words of FreeBSD's kqueue(2): each test is a
//! sentence of that page, or of the emulation's own list of what it adds.
#![cfg(all(target_os = "linux", feature = "emulated-kqueue"))]

#[path = "emulated_kqueue/calls.rs"]
mod calls;
#[path = "emulated_kqueue/changes.rs"]
mod changes;
#[path = "emulated_kqueue/closing.rs"]
mod closing;
#[path = "emulated_kqueue/ends.rs"]
mod ends;
#[path = "emulated_kqueue/flags.rs"]
mod flags;
#[path = "emulated_kqueue/reading.rs"]
mod reading;
#[path = "emulated_kqueue/signals.rs"]
mod signals;
#[path = "emulated_kqueue/timers.rs"]
mod timers;
#[path = "emulated_kqueue/tools.rs"]
mod tools;
#[path = "emulated_kqueue/user.rs"]
mod user;
#[path = "emulated_kqueue/writing.rs"]
mod writing;
