//! A program that has threads, a signal handler and children of its own, and runs a server beside them.
//!
//! With `--handler` it stops the server from its own SIGTERM handler, which any of its threads may have to run; else it
//! hands the signals over, as `evserver` does. The line `child` is answered with the process number of a child that
//! sleeps. At the end it says the report and the signals that it still blocks.

#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    program::run()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("embedder: this system has no epoll");
}
