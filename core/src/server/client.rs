//! One client of a server: its connection, its socket and what the poller was told.

use core::borrow::BorrowMut;

use super::TURN_BYTES;
use super::host::Host;
use crate::buffers::Buffers;
use crate::connection::{Connection, Deadlines};
use crate::drive::{Io, Readiness, Transport, Turn, drive};
use crate::reason::CloseReason;
use crate::slots::Occupant;
use crate::time::Time;
use crate::token::Token;
use crate::wants::{Action, Interest, Waiting};

/// What a slot of the server's table holds.
pub struct Client<H: Host<N>, const N: usize> {
    pub(super) connection: Connection<H::Protocol, H::Buffers, N>,
    pub(super) socket: H::Socket,
    /// What the poller last said and what was not used up of it.
    pub(super) readiness: Readiness,
    /// What the poller was last told; `None` before it was told anything.
    pub(super) watched: Option<Interest>,
    /// It was told that the server is full, and counts as one of those.
    pub(super) refused: bool,
}

/// Bytes that are discarded at a time without buffers: little, since they are on the stack.
const SCRATCH_BYTES: usize = 128;

/// How a client's turn ended.
pub(super) enum Outcome {
    /// It waits.
    Waiting,
    /// There is more to do without an event.
    Again,
    /// It needs buffers and there are none.
    Starved,
    /// It is over.
    Closed(CloseReason),
}

impl<H: Host<N>, const N: usize> Client<H, N>
where
    H::Buffers: BorrowMut<Buffers<N>>,
{
    /// Moves what can move, takes the buffers back if they are empty, and tells the poller of a new interest.
    #[inline]
    pub(super) fn turn(&mut self, host: &mut H, token: Token, stamp: Time, edge_triggered: bool) -> Outcome {
        let Self { connection, socket, readiness, .. } = self;
        let buffers = if connection.has_buffers() { None } else { host.take_buffers() };
        let turn = host.guard(|| {
            if let Some(buffers) = buffers {
                connection.lend(buffers, stamp);
            }
            drive(connection, socket, readiness, stamp, TURN_BYTES)
        });
        let turn = turn.unwrap_or_else(|| self.panicked(host));
        let outcome = match turn {
            Turn::Closed(reason) => return Outcome::Closed(reason),
            Turn::Again => Outcome::Again,
            Turn::Lend if self.connection.wants().waiting == Waiting::ForPeerEnd => self.discard(host, stamp),
            // Reading is off for lack of buffers, and the poller would report the hang-up for ever (rule 4).
            Turn::Lend if self.readiness.hangup && self.watched == Some(Interest::None) && !edge_triggered => {
                self.guarded(host, Connection::failed);
                return Outcome::Closed(CloseReason::Failed);
            }
            Turn::Lend => Outcome::Starved,
            Turn::Waiting => Outcome::Waiting,
        };
        if let Outcome::Closed(_) = outcome {
            return outcome;
        }
        if !self.tell(host, token, &outcome, edge_triggered) {
            // It closes with its buffers, so that whoever waits for some gets them.
            self.guarded(host, Connection::failed);
            return Outcome::Closed(CloseReason::Failed);
        }
        if let Some(buffers) = self.connection.reclaim() {
            host.return_buffers(buffers);
        }
        outcome
    }

    /// Discards what a lingering client still sends when there are no buffers to discard it into: it must neither
    /// wait for some nor be closed before its end, which would be a reset (rule 5).
    #[cold]
    fn discard(&mut self, host: &mut H, stamp: Time) -> Outcome {
        let mut scratch = [0; SCRATCH_BYTES];
        for _ in 0..TURN_BYTES / SCRATCH_BYTES {
            if !self.readiness.readable {
                return Outcome::Waiting;
            }
            match self.socket.receive(&mut scratch) {
                Io::Moved(n) => {
                    let Readiness { until_would_block, hangup, .. } = self.readiness;
                    self.readiness.readable = n == SCRATCH_BYTES || until_would_block || hangup;
                }
                Io::WouldBlock => self.readiness.readable = false,
                Io::Interrupted => {}
                Io::End | Io::Failed => {
                    self.guarded(host, |connection| connection.received_end(stamp));
                    if let Action::Close(reason) = self.connection.action() {
                        return Outcome::Closed(reason);
                    }
                }
            }
        }
        Outcome::Again
    }

    /// Lends buffers if there are none and the host has some.
    #[inline]
    pub(super) fn lend(&mut self, host: &mut H, stamp: Time) {
        if !self.connection.has_buffers()
            && let Some(buffers) = host.take_buffers()
        {
            self.guarded(host, |connection| connection.lend(buffers, stamp));
        }
    }

    /// Runs something that calls the protocol; `None` when it panicked, and then the connection is over.
    pub(super) fn guarded<R>(
        &mut self,
        host: &mut H,
        work: impl FnOnce(&mut Connection<H::Protocol, H::Buffers, N>) -> R,
    ) -> Option<R> {
        let done = host.guard(|| work(&mut self.connection));
        if done.is_none() {
            self.panicked(host);
        }
        done
    }

    /// Its protocol panicked.
    #[cold]
    fn panicked(&mut self, host: &mut H) -> Turn {
        // To drop it may panic again; by then the connection is over.
        let _ = host.guard(|| self.connection.panicked());
        Turn::Closed(CloseReason::Panicked)
    }

    /// Tells the poller if there is something new to tell; `false` when it cannot watch this client.
    #[inline]
    fn tell(&mut self, host: &mut H, token: Token, outcome: &Outcome, edge_triggered: bool) -> bool {
        if matches!(outcome, Outcome::Waiting) && !edge_triggered {
            // The level is reported again for as long as it lasts.
            self.readiness = Readiness::NONE;
        }
        let wanted = match outcome {
            Outcome::Starved => Interest::None,
            Outcome::Waiting | Outcome::Again | Outcome::Closed(_) => self.connection.interest(),
        };
        match self.watched {
            None => {
                self.watched = Some(wanted);
                host.watch(&self.socket, token, wanted)
            }
            Some(watched) if watched == wanted || edge_triggered => true,
            // It has work, so its events are not waited for; what it will want then is told then.
            Some(_) if matches!(outcome, Outcome::Again) => true,
            Some(_) => {
                self.watched = Some(wanted);
                host.rewatch(&self.socket, token, wanted)
            }
        }
    }

    /// Leaves the poller and gives the buffers back, before the socket is closed.
    pub(super) fn leave(&mut self, host: &mut H, token: Token) {
        if let Some(buffers) = self.connection.reclaim() {
            host.return_buffers(buffers);
        }
        if self.watched.is_some() {
            host.unwatch(&self.socket, token);
        }
    }
}

impl<H: Host<N>, const N: usize> Occupant for Client<H, N>
where
    H::Buffers: BorrowMut<Buffers<N>>,
{
    fn named(&mut self, token: Token) {
        self.connection.set_token(token);
    }

    #[inline]
    fn deadlines(&self) -> Deadlines {
        self.connection.deadlines()
    }

    #[inline]
    fn is_draining(&self) -> bool {
        self.connection.is_draining()
    }

    fn restamp(&mut self, began: Time, ended: Time) {
        self.connection.restamp(began, ended);
    }
}
