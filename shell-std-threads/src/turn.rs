//! A turn of one connection: buffers, transfers, panics. The same for every thread that has a connection in hand.

use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evserver_core::{Action, Buffers, Connection, Interest, Protocol, Readiness, TURN_BYTES, Turn, drive};

use crate::common::Common;
use crate::ledger::Complaint;
use crate::socket::Socket;

/// The core's connection, as it is used here.
pub type Conn<P> = Connection<P, Box<Buffers>>;

/// Moves what can move without waiting; buffers are taken from the pool and given back when they are empty.
///
/// With it comes what the connection waits for: [`Interest::None`] is an answer from elsewhere.
pub fn turn<P: Protocol>(
    common: &Common,
    connection: &mut Conn<P>,
    stream: &TcpStream,
    readiness: &mut Readiness,
) -> (Turn, Interest) {
    lend(common, connection);
    let mut socket = Socket { stream, clock: common.clock };
    let turn = guarded(common, connection, |connection| {
        drive(connection, &mut socket, readiness, common.clock.stamp(), TURN_BYTES)
    });
    // It is over after a panic.
    let turn = match (turn, connection.action()) {
        (None, Action::Close(reason)) => Turn::Closed(reason),
        (turn, _) => turn.unwrap_or(Turn::Again),
    };
    let interest = connection.interest();
    if let Some(buffers) = connection.reclaim() {
        common.return_buffers(buffers);
    }
    (turn, interest)
}

/// Lets the deadlines act that are due, after one attempt to receive: what came in time is served, also when nobody
/// could look until now (rule 8).
pub fn act_on_deadlines<P: Protocol>(
    common: &Common,
    connection: &mut Conn<P>,
    stream: &TcpStream,
    readiness: &mut Readiness,
) {
    let now = common.clock.now();
    if connection.deadlines().earliest() <= now {
        *readiness = Readiness { hangup: readiness.hangup, ..Readiness::ATTEMPT };
        turn(common, connection, stream, readiness);
        guarded(common, connection, |connection| connection.handle_timeout(now));
    }
}

/// Lends buffers to a connection that has none.
pub fn lend<P: Protocol>(common: &Common, connection: &mut Conn<P>) {
    if !connection.has_buffers() {
        let buffers = common.take_buffers();
        guarded(common, connection, |connection| connection.lend(buffers, common.clock.stamp()));
    }
}

/// Runs something that calls the protocol; `None` when it panicked, and then the connection is over.
pub fn guarded<P: Protocol, R>(
    common: &Common,
    connection: &mut Conn<P>,
    work: impl FnOnce(&mut Conn<P>) -> R,
) -> Option<R> {
    // The connection is dropped after a panic, so nobody sees what state it was left in.
    let done = catch_unwind(AssertUnwindSafe(|| work(connection))).ok();
    if done.is_none() {
        // To drop the protocol may panic again; by then the connection is over.
        let _ = catch_unwind(AssertUnwindSafe(|| connection.panicked()));
        common.complain(Complaint::ProtocolPanicked);
    }
    done
}
