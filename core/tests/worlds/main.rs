//! The core against models too simple to be wrong: random worlds, all small worlds, programs of calls in every order,
//! hostile transports, and the table of connections.
//!
//! `EVSERVER_WORLDS=large` makes the small worlds larger: some hundred million runs instead of some million.

mod framing;
mod model;
mod programs;
mod scripted;
mod small;
mod states;
mod table;
mod transport;
