//! A black-box suite for any server that speaks the numbered echo.
//!
//! The suite knows a server only by its address and, where a case needs a server of its own, by the command that starts one.
//! It is a library, so that a shell's own tests run it against their own binary, and a program:
//!
//! ```sh
//! evserver-conformance --connect 127.0.0.1:8080
//! evserver-conformance --spawn 'target/release/evserver --listen 127.0.0.1:0 --idle-timeout {idle}'
//! ```
//!
//! A case is a [`Case`] in one of the groups under `cases`; it takes a [`Context`], and what goes wrong it says as a
//! [`NotPassed`]: what was sent, what came. The runner adds the rule.
#![forbid(unsafe_code)]

mod bytes;
mod case;
mod cases;
mod client;
mod command;
mod context;
mod model;
pub mod process;
mod queues;
mod random;
mod replay;
mod report;
mod runner;
mod suite;
pub mod transcript;

pub use case::{Case, Needs, NotPassed, Outcome, Pace};
pub use cases::all_cases;
pub use client::{Client, DEADLINE, GREETING};
pub use command::Command;
pub use context::{Context, Traits};
pub use random::Random;
pub use replay::{Manner, replay};
pub use report::Summary;
pub use suite::{Suite, Target, check};
