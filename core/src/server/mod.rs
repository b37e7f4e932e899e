//! A whole server without system calls: what every event loop does between two waits.

mod accepting;
mod admission;
mod client;
mod complaints;
mod host;
mod shutdown;

use core::borrow::BorrowMut;

use admission::Admission;
pub use admission::REFUSED_AT_ONCE;
pub use client::Client;
use client::Outcome;
pub use complaints::Complaint;
use complaints::Complaints;
pub use host::{Accept, Host};

use crate::buffers::{BUFFER_BYTES, Buffers};
use crate::counts::Counts;
use crate::drive::Readiness;
use crate::limits::{DRAIN_MS, Limits};
use crate::reason::CloseReason;
use crate::reply::NoRoom;
use crate::slots::{Slots, Storage};
use crate::time::Time;
use crate::token::{Late, Ticket, Token};

/// Bytes that a connection may move in a turn before the others have theirs (rule 9).
pub const TURN_BYTES: usize = 64 * 1024;

/// Clients accepted, deadlines acted on and connections told of the shutdown in one turn, each.
pub const STEPS_IN_A_TURN: u32 = 64;

/// Settings of a server. Unless they are set: the limits of [`Limits::new`], any number of clients, [`DRAIN_MS`] for a
/// shutdown, a poller that reports states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Limits of each connection.
    pub limits: Limits,
    /// Clients served at one time; `None` is no limit.
    pub max_connections: Option<u32>,
    /// Milliseconds from the beginning of a shutdown to its end. With 0 nobody gets the replies that are pending.
    pub drain_ms: u32,
    /// The poller reports changes (edges), not states (levels).
    pub edge_triggered: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { limits: Limits::new(), max_connections: None, drain_ms: DRAIN_MS, edge_triggered: false }
    }
}

/// A table of clients and everything that is decided about them.
///
/// The event loop around it is this. Listeners are watched by level, also where clients are watched by edge: an accept
/// that stops short leaves the rest to an event of the next wait, and an edge would not come again.
///
/// 1. wait for events, not at all while [`must_not_sleep`](Self::must_not_sleep), else until
///    [`next_deadline`](Self::next_deadline);
/// 2. read the clock, rounded down to milliseconds;
/// 3. for an event of a listener: [`accept`](Self::accept); of a client: [`event`](Self::event);
/// 4. [`run`](Self::run) what is due;
/// 5. read the clock: [`end_turn`](Self::end_turn).
///
/// A shutdown begins with [`drain`](Self::drain) and is over when [`is_done`](Self::is_done).
pub struct Server<H: Host<N>, S, const N: usize = BUFFER_BYTES> {
    clients: Slots<Client<H, N>, S>,
    settings: Settings,
    admission: Admission,
    complaints: Complaints,
    counts: Counts,
    /// When a shutdown that is under way ends at the latest.
    drain_until: Option<Time>,
    /// The last of those that had work left when the turn before ended. Who is left with work in this turn has had
    /// a turn, and waits for the next one (rule 9).
    unfinished: Option<Token>,
}

impl<H, S, const N: usize> Server<H, S, N>
where
    H: Host<N>,
    H::Buffers: BorrowMut<Buffers<N>>,
    S: Storage<Client<H, N>>,
{
    /// A server without clients, over memory for its table.
    pub const fn new(storage: S, settings: Settings) -> Self {
        Self {
            clients: Slots::new(storage),
            admission: Admission::new(),
            complaints: Complaints::new(),
            settings,
            counts: Counts::new(),
            drain_until: None,
            unfinished: None,
        }
    }

    /// What was counted since the start.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The poller says something of a client. A token of one that left is ignored.
    #[inline]
    pub fn event(&mut self, host: &mut H, token: Token, readable: bool, writable: bool, hangup: bool, now: Time) {
        let Some((client, runs_again)) = self.clients.get_queued(token) else { return };
        client.readiness.readable |= readable || hangup;
        client.readiness.writable |= writable || hangup;
        client.readiness.hangup |= hangup;
        if !runs_again {
            let outcome = client.turn(host, token, now.after(1), self.settings.edge_triggered);
            self.turned(host, token, outcome, now);
        }
    }

    /// Does what is due without an event: unfinished turns, deadlines, the steps of a shutdown.
    pub fn run(&mut self, host: &mut H, now: Time) {
        self.run_unfinished(host, now);
        self.run_deadlines(host, now);
        if self.admission.retry_due(now) {
            host.watch_listeners(true);
        }
        if self.admission.is_open() && !host.listens() {
            // Nobody would be heard, and with no clients nothing would ever try again.
            self.rest(host, now);
        }
        self.run_drain(host, now);
        self.unfinished = self.clients.last_again();
    }

    fn run_unfinished(&mut self, host: &mut H, now: Time) {
        let Some(last) = self.unfinished.take() else { return };
        while let Some(token) = self.clients.next_again() {
            self.serve(host, token, now);
            if token == last {
                return;
            }
        }
    }

    fn run_deadlines(&mut self, host: &mut H, now: Time) {
        for _ in 0..STEPS_IN_A_TURN {
            let Some(token) = self.clients.expired(now) else { return };
            if let Some(client) = self.clients.get_mut(token) {
                // What came in time is served, also when this process could not look until now.
                let hangup = client.readiness.hangup;
                client.readiness = Readiness { hangup, ..Readiness::ATTEMPT };
            }
            self.serve(host, token, now);
            if let Some(client) = self.clients.get_mut(token) {
                client.guarded(host, |connection| connection.handle_timeout(now));
            }
            self.serve(host, token, now);
        }
    }

    /// The turn is over: `ended` is the clock now, `began` what it was when the turn began.
    pub fn end_turn(&mut self, began: Time, ended: Time) {
        self.clients.end_turn(began.after(1), ended.after(1));
    }

    /// Whether there is work that no event will announce.
    pub fn must_not_sleep(&self) -> bool {
        self.clients.has_again() || (self.drain_until.is_some() && self.clients.not_draining().is_some())
    }

    /// When [`run`](Self::run) has something to do at the latest.
    pub fn next_deadline(&self) -> Option<Time> {
        let next = [self.clients.next_deadline(), self.admission.retry(), self.drain_until];
        next.into_iter().flatten().min()
    }

    /// Sends `bytes` to a client without being asked, between two replies.
    ///
    /// # Errors
    /// [`NoRoom`] when the client is gone, takes no more, or its output has no room; nothing was sent then. Its
    /// protocol's [`missed`](crate::Protocol::missed) is called when there is room again.
    pub fn push(&mut self, host: &mut H, token: Token, bytes: &[u8], now: Time) -> Result<(), NoRoom> {
        let Some((client, runs_again)) = self.clients.get_queued(token) else { return Err(NoRoom) };
        client.lend(host, now.after(1));
        let pushed = client.connection.push(bytes, now.after(1));
        self.serve_unless(runs_again, host, token, now);
        pushed
    }

    /// Hands over the answer that `ticket` stands for: `answer` stores it in the protocol.
    ///
    /// # Errors
    /// [`Late`] when nobody waits for it any more; then `answer` is not called.
    pub fn complete(
        &mut self,
        host: &mut H,
        ticket: Ticket,
        now: Time,
        answer: impl FnOnce(&mut H::Protocol),
    ) -> Result<(), Late> {
        let token = ticket.token();
        let Some((client, runs_again)) = self.clients.get_queued(token) else { return Err(Late) };
        let completed = client
            .guarded(host, |connection| connection.complete(ticket, now.after(1), answer))
            .unwrap_or(Err(Late));
        self.serve_unless(runs_again, host, token, now);
        completed
    }

    /// Calls something of a protocol's that belongs to no connection: none is lost if it panics.
    pub fn tell(&mut self, host: &mut H, now: Time, work: impl FnOnce()) {
        if host.guard(work).is_none() {
            self.complain(host, Complaint::ProtocolPanicked, now);
        }
    }

    /// Gives a client its turn, unless it has one coming: what others ask for gives it no more of them (rule 9).
    fn serve_unless(&mut self, runs_again: bool, host: &mut H, token: Token, now: Time) {
        if runs_again {
            self.clients.settle(token);
        } else {
            self.serve(host, token, now);
        }
    }

    /// Gives a client its turn and does what follows from it.
    fn serve(&mut self, host: &mut H, token: Token, now: Time) {
        let Some(client) = self.clients.get_mut(token) else { return };
        let outcome = client.turn(host, token, now.after(1), self.settings.edge_triggered);
        self.turned(host, token, outcome, now);
    }

    /// Does what follows from a client's turn.
    #[inline]
    fn turned(&mut self, host: &mut H, token: Token, outcome: Outcome, now: Time) {
        match outcome {
            Outcome::Waiting => {}
            Outcome::Again => self.clients.run_again(token),
            // It gave nothing back: to feed another one now would go round for ever.
            Outcome::Starved => {
                self.clients.starve(token);
                return self.clients.settle(token);
            }
            Outcome::Closed(reason) => return self.close(host, token, reason, now),
        }
        self.clients.settle(token);
        if self.clients.has_starved() && self.clients.get(token).is_some_and(|it| !it.connection.has_buffers()) {
            self.feed();
        }
    }

    /// A client is over: leaves the poller, gives back its buffers, closes its socket.
    fn close(&mut self, host: &mut H, token: Token, reason: CloseReason, now: Time) {
        let Some(mut client) = self.clients.remove(token) else { return };
        let gives_back = client.connection.has_buffers();
        client.leave(host, token);
        let refused = client.refused;
        if !refused {
            self.counts.closed(reason);
            host.leave();
        }
        if reason == CloseReason::Panicked {
            self.complain(host, Complaint::ProtocolPanicked, now);
        }
        // The protocol is dropped with it, and that may panic.
        let _ = host.guard(|| drop(client));
        if self.admission.left(refused) {
            host.watch_listeners(true);
        }
        if gives_back {
            self.feed();
        }
    }

    /// Says something to a person, unless it was said a moment ago.
    fn complain(&mut self, host: &mut H, complaint: Complaint, now: Time) {
        if self.complaints.may_say(complaint, now) {
            host.complain(complaint);
        }
    }

    /// Buffers came back: the client that waited longest for some has work. Who was lent some by a push meanwhile waits
    /// no more, and gives nothing back that would feed the next one.
    fn feed(&mut self) {
        while let Some(token) = self.clients.next_starved() {
            if self.clients.get(token).is_some_and(|client| !client.connection.has_buffers()) {
                return self.clients.run_again(token);
            }
        }
    }
}

#[cfg(test)]
mod tests;
