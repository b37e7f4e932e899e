//! What a line costs without a socket: the core, a loop written by hand, and what one would take from a library.
//!
//! An iteration is 1,000 lines, or 1,000,000 of one byte: so its time in µs, or ms, is that of a line in ns.

#[cfg(target_os = "linux")]
mod others;
#[cfg(target_os = "linux")]
mod run;

fn main() {
    #[cfg(target_os = "linux")]
    run::main();
}
