//! The one place that knows how non-blocking I/O can turn out.

use core::borrow::BorrowMut;

use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::protocol::Protocol;
use crate::reason::CloseReason;
use crate::time::Time;
use crate::wants::Action;

/// More interruptions than this in a turn are left for the next one.
const INTERRUPTS_IN_A_TURN: u32 = 16;

/// How a receive or a send turned out: the five cases of non-blocking I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// So many bytes moved; at least one.
    Moved(usize),
    /// The peer has ended its stream (receive only).
    End,
    /// Nothing can move now: the system was asked. A blocking transport means: the deadline came first.
    WouldBlock,
    /// A signal came first; to be tried again.
    Interrupted,
    /// The connection is gone.
    Failed,
}

/// A stream socket, or what stands for one in a simulation.
///
/// The answers are those of the system at the moment of the call, not of a readiness that was noted before:
/// [`Io::WouldBlock`] from a receive says that nothing has arrived, and so lets a deadline act, or ends the last turn
/// of a shutdown. A runtime that answers from what its last wait told it (tokio's streams do) has to be gone round
/// there, or what came in time is lost.
pub trait Transport {
    /// Receives at most `space.len()` bytes (at least 1) into `space`.
    fn receive(&mut self, space: &mut [u8]) -> Io;

    /// Sends some of the first of `bytes` (at least 1).
    fn send(&mut self, bytes: &[u8]) -> Io;

    /// Ends our stream: the peer reads an end behind everything that was sent. Errors do not matter: what
    /// they mean shows at the next receive.
    fn shutdown_write(&mut self);

    /// The time after a receive or a send, in a turn that began at `turn`.
    ///
    /// A transport that blocks reads its clock here; others cost nothing and keep the turn's time.
    fn now(&self, turn: Time) -> Time {
        turn
    }
}

/// What is known of a transport's readiness: where a call is worth making. It never stands for the call's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// A receive may bring something.
    pub readable: bool,
    /// A send may take something.
    pub writable: bool,
    /// The poller reported an error or a hang-up.
    pub hangup: bool,
    /// Only would-block uses readiness up (edge-triggered mode). Otherwise a transfer that moved less than
    /// asked does too, which saves the call that would only say so.
    pub until_would_block: bool,
}

impl Readiness {
    /// Everything may move: a new connection, a blocking transport.
    pub const ALL: Self = Self { readable: true, writable: true, hangup: false, until_would_block: false };

    /// Nothing is known to be ready. Output is tried at once all the same: `writable` is true.
    pub const NONE: Self = Self { readable: false, writable: true, hangup: false, until_would_block: false };

    /// For a last attempt before a deadline acts: only would-block is taken for an answer.
    pub const ATTEMPT: Self = Self { readable: true, writable: true, hangup: false, until_would_block: true };
}

/// How a turn of [`drive`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The connection waits for an event, an answer or a deadline.
    Waiting,
    /// The budget is spent and there is more to do without a new event.
    Again,
    /// The connection needs buffers first: see [`Action::Lend`] for whether it needs them now.
    Lend,
    /// It is over: the transport is to be closed.
    Closed(CloseReason),
}

/// Moves bytes until nothing can move without waiting, or `budget` bytes have moved.
///
/// Output is tried at once, and nothing is received while some is pending. `readiness` is what the poller said;
/// it comes back with what was used up. In edge-triggered mode the caller keeps it between turns.
///
/// `budget` bounds a turn, not a transfer: it may be exceeded by one buffer. A budget of 1 makes one transfer, which
/// is what a blocking transport needs to compute its timeout anew.
pub fn drive<P, B, T, const N: usize>(
    connection: &mut Connection<P, B, N>,
    transport: &mut T,
    readiness: &mut Readiness,
    now: Time,
    budget: usize,
) -> Turn
where
    P: Protocol,
    B: BorrowMut<Buffers<N>>,
    T: Transport,
{
    let mut moved = 0;
    let mut interrupts = 0;
    loop {
        let spent = moved >= budget || interrupts > INTERRUPTS_IN_A_TURN;
        let outcome = match connection.action() {
            Action::Send => {
                if !readiness.writable {
                    return Turn::Waiting;
                }
                if spent {
                    return Turn::Again;
                }
                send(connection, transport, readiness, now)
            }
            Action::Receive => {
                if !(readiness.readable || connection.owes_receive()) {
                    return Turn::Waiting;
                }
                if spent && connection.owes_receive() && moved > 0 {
                    // A peer that never stops sending has had its last turn.
                    connection.drained(now);
                    continue;
                }
                if spent {
                    return Turn::Again;
                }
                receive(connection, transport, readiness, now)
            }
            Action::ShutdownWrite => {
                transport.shutdown_write();
                connection.write_shut(transport.now(now));
                continue;
            }
            Action::Wait => {
                // Reading is off; the poller would report the hang-up for ever.
                if readiness.hangup {
                    connection.failed();
                    continue;
                }
                return Turn::Waiting;
            }
            Action::Lend => return Turn::Lend,
            Action::Close(reason) => return Turn::Closed(reason),
        };
        match outcome {
            Io::Moved(n) => moved += n,
            Io::Interrupted => interrupts += 1,
            Io::End | Io::WouldBlock | Io::Failed => {}
        }
    }
}

#[inline]
fn send<P, B, T, const N: usize>(
    connection: &mut Connection<P, B, N>,
    transport: &mut T,
    readiness: &mut Readiness,
    now: Time,
) -> Io
where
    P: Protocol,
    B: BorrowMut<Buffers<N>>,
    T: Transport,
{
    let pending = connection.transmit();
    let asked = pending.len();
    let outcome = transport.send(pending);
    match outcome {
        Io::Moved(n) => {
            connection.transmitted(n, transport.now(now));
            readiness.writable = n >= asked || readiness.until_would_block;
        }
        Io::WouldBlock => {
            readiness.writable = false;
            if readiness.hangup {
                // Neither will it become writable nor will the poller be silent: it is gone (rule 4).
                connection.failed();
            }
        }
        Io::Interrupted => {}
        Io::Failed | Io::End => connection.failed(),
    }
    outcome
}

#[inline]
fn receive<P, B, T, const N: usize>(
    connection: &mut Connection<P, B, N>,
    transport: &mut T,
    readiness: &mut Readiness,
    now: Time,
) -> Io
where
    P: Protocol,
    B: BorrowMut<Buffers<N>>,
    T: Transport,
{
    let space = connection.receive_space();
    let asked = space.len();
    let outcome = transport.receive(space);
    let now = transport.now(now);
    match outcome {
        Io::Moved(n) => {
            connection.received(n, now);
            // Behind a hang-up there is an end or an error, also when the data came short.
            readiness.readable = n >= asked || readiness.until_would_block || readiness.hangup;
            if !readiness.readable {
                connection.drained(now);
            }
        }
        Io::End => {
            readiness.readable = false;
            connection.received_end(now);
        }
        Io::WouldBlock => {
            readiness.readable = false;
            connection.drained(now);
        }
        Io::Interrupted => {}
        Io::Failed => connection.failed(),
    }
    outcome
}

#[cfg(test)]
mod tests;
