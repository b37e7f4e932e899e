//! What the examples of this package have in common: the clock, what an error of accept means, and the transcripts.
//!
//! Each example is a program of its own in the folder of its runtime's name. They show three ways to use
//! `evserver-core`: the bare [`Connection`](evserver_core::Connection) (`cortex-m`), a connection with
//! [`drive`](evserver_core::drive()) (`tokio`, `smoltcp`), and a whole [`Server`](evserver_core::Server) (`mio`).
#![forbid(unsafe_code)]

#[cfg(unix)]
mod accept;
mod clock;
mod transcripts;

#[cfg(unix)]
pub use accept::accepted;
pub use clock::Clock;
pub use transcripts::{Named, transcripts};
