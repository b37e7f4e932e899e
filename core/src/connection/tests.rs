//! What each rule says of one connection, by exact bytes and exact moments.

use std::boxed::Box;

use super::Connection;
use crate::{
    Action, Buffers, CloseReason, Interest, Late, Limits, LineEnd, Next, NoRoom, NumberedEcho, Protocol, Reply,
    Ticket, Time, Waiting,
};

mod aside;
mod closing;
mod draining;
mod following;
mod framing;
mod missed;
mod misuse;
mod pipelined;
mod replies;
mod script;
mod size;
mod talk;
mod time;
mod work;
