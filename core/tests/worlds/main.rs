//! The core against models too simple to be wrong: random worlds, all small worlds, hostile transports, the table of
//! connections, and the transcripts at every split.
//!
//! `EVSERVER_WORLDS=large` makes the small worlds larger: some hundred million runs instead of some million.

mod framing;
mod model;
mod small;
mod table;
mod transport;
