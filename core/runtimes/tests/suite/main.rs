//! The black-box suite against the core on mio and on tokio, at the same time: both wait more than they compute.
#![cfg(unix)]

mod on_mio;
mod on_tokio;
mod without;
