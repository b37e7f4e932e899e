//! evserver on the BSDs and macOS: the core's server on kqueue(2).
//!
//! `serve` runs any [`Protocol`](evserver_core::Protocol); the binary `evserver-bsd` runs the numbered echo with it.
//! On a system without kqueue this library is empty.
#![cfg(kqueue)]

mod interests;
mod poller;
mod server;
mod signals;
mod sys;
mod timer;

pub use evserver_core::{Limits, Next, NumberedEcho, Protocol, Reply, Settings};
pub use evserver_hosted::{Handle, ListenOptions, Listening, Peer, Report, StopHandle, listen};
pub use server::{Options, serve};
pub use signals::Signals;
#[cfg(emulated)]
pub use sys::emulated;
