//! A line-protocol server engine without I/O.
//!
//! A [`Protocol`] says what to answer to a line. A [`Connection`] runs it over fixed [`Buffers`]: bytes in,
//! replies and changes of interest out; time comes in as a value. [`drive()`] moves the bytes over anything
//! that is a [`Transport`]. [`Server`] runs a whole table of connections ([`Slots`]) on what a [`Host`] gives:
//! accepted sockets, a poller, buffers. There is no allocation, no `unsafe` and no panic path in here, so the same
//! code serves a million sockets, a microcontroller and a simulation.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod buffers;
mod connection;
mod counts;
mod decimal;
mod drive;
mod limits;
mod numbered;
mod protocol;
mod reason;
mod reply;
mod server;
mod slots;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
mod token;
mod wants;

pub use buffers::{BUFFER_BYTES, Buffers};
pub use connection::{Connection, Deadlines};
pub use counts::Counts;
pub use decimal::parse_decimal;
pub use drive::{Io, Readiness, Transport, Turn, drive};
pub use limits::{DRAIN_MS, IDLE_MS, LINGER_MS, Limits};
pub use numbered::NumberedEcho;
pub use protocol::{LineEnd, Next, Protocol};
pub use reason::CloseReason;
pub use reply::{NoRoom, Reply};
pub use server::{Accept, Client, Complaint, Host, REFUSED_AT_ONCE, STEPS_IN_A_TURN, Server, Settings, TURN_BYTES};
pub use slots::{Full, Occupant, Slot, Slots, Storage};
pub use time::Time;
pub use token::{Late, Ticket, Token};
pub use wants::{Action, Interest, Waiting, Wants};
