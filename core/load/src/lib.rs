//! Load for line servers, with every reply checked byte for byte.
//!
//! The library is what the programs share; each kind of load is one module with one function that
//! takes what to do and gives a report:
//!
//! | module | question |
//! |---|---|
//! | [`steady`] | what does a reply cost, how long does it take? |
//! | [`hold`] | what does an idle connection cost, and is each of very many served? |
//! | [`churn`] | what does a short connection cost from connect to end? |
//! | [`quiet`] | how long does a quiet client wait beside flooding ones? |
//! | [`framing`] | what do lines and numbers cost, without a socket? |
//!
//! [`server`] starts what is measured, on the processor that [`cpus`] gives it.
//!
//! All loads run one epoll loop in the calling thread and are bounded in time. All end with a [`Failure`] at the first
//! wrong byte: a figure from a server that answers wrongly is worth nothing.
//!
//! [`Failure`]: failure::Failure
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod churn;
pub mod cpus;
pub mod dialer;
pub mod failure;
pub mod framing;
pub mod hold;
pub mod latency;
pub mod lines;
pub mod link;
pub mod opening;
pub mod poller;
pub mod process;
pub mod progress;
pub mod quiet;
pub mod replies;
mod resp;
pub mod script;
pub mod server;
pub mod steady;
pub mod system;
pub mod target;
