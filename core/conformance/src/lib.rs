#![doc = include_str!("../README.md")]
//!
//! # The library
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
