//! evserver on Linux: the core's server on epoll(7), timerfd_create(2) and signalfd(2).
//!
//! [`serve`] runs any [`Protocol`]; the binary `evserver` runs the numbered echo with it.
#![cfg(target_os = "linux")]

mod poller;
mod server;
mod signals;
mod sys;
mod timer;

pub use evserver_core::{Limits, Next, NumberedEcho, Protocol, Reply, Settings};
pub use evserver_hosted::{Handle, ListenOptions, Listening, Peer, Report, StopHandle, listen};
pub use server::{Options, serve};
pub use signals::Signals;

/// The README's code, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
