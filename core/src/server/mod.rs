//! A whole server without system calls: what every event loop does between two waits.

mod admission;
mod client;
mod host;

use core::borrow::BorrowMut;

use admission::Admission;
pub use admission::REFUSED_AT_ONCE;
pub use client::Client;
use client::Outcome;
pub use host::{Accept, Complaint, Host};

use crate::buffers::{BUFFER_BYTES, Buffers};
use crate::connection::Connection;
use crate::counts::Counts;
use crate::drive::Readiness;
use crate::limits::Limits;
use crate::reason::CloseReason;
use crate::reply::NoRoom;
use crate::slots::{Full, Slots, Storage};
use crate::time::Time;
use crate::token::{Late, Ticket, Token};

/// What a client is told when the server is full.
const FULL: &[u8] = b"server full\n";

/// Bytes that a connection may move in a turn before the others have theirs (rule 9).
pub const TURN_BYTES: usize = 64 * 1024;

/// Clients accepted, deadlines acted on and connections told of the shutdown in one turn, each.
pub const STEPS_IN_A_TURN: u32 = 64;

/// Clients accepted in the one sweep of a shutdown: more than any usual listen queue holds.
const SWEEP: u32 = 65_536;

/// Settings of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Limits of each connection.
    pub limits: Limits,
    /// Clients served at one time; `None` is no limit.
    pub max_connections: Option<u32>,
    /// Milliseconds from the beginning of a shutdown to its end.
    pub drain_ms: u32,
    /// The poller reports changes (edges), not states (levels).
    pub edge_triggered: bool,
}

/// A table of clients and everything that is decided about them.
///
/// The event loop around it is this:
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

    /// A listener has clients, or may have: accepts until nobody waits or the turn's share is spent.
    ///
    /// Listeners are watched by level, so whoever still waits is an event of the next turn.
    pub fn accept(&mut self, host: &mut H, listener: usize, now: Time) {
        if self.admission.is_open() {
            self.accept_some(host, listener, now, STEPS_IN_A_TURN);
        }
    }

    fn accept_some(&mut self, host: &mut H, listener: usize, now: Time, most: u32) {
        let mut barren = true;
        for _ in 0..most {
            if !self.clients.has_room() {
                // Whoever waits for a slot waits in the listen queue.
                self.admission.table_full();
                return host.watch_listeners(false);
            }
            match host.accept(listener) {
                Accept::Client(socket, peer) => {
                    barren = false;
                    self.admit(host, socket, &peer, now);
                    if !self.admission.is_open() {
                        return;
                    }
                }
                Accept::WouldBlock => {
                    self.admission.is_barren(false);
                    return;
                }
                Accept::Interrupted | Accept::Dropped => {}
                Accept::Exhausted => return self.rest(host, now),
            }
        }
        if self.admission.is_barren(barren) {
            // Nothing but errors: the listener itself may be at fault, and it would be an event for ever.
            self.rest(host, now);
        }
    }

    /// Accepting rests for lack of descriptors or memory.
    fn rest(&mut self, host: &mut H, now: Time) {
        if self.drain_until.is_some() {
            return;
        }
        if self.admission.exhausted(now) {
            host.complain(Complaint::AcceptExhausted);
        }
        host.watch_listeners(false);
    }

    fn admit(&mut self, host: &mut H, socket: H::Socket, peer: &H::Peer, now: Time) {
        let stamp = now.after(1);
        let refused = !host.enter(self.settings.max_connections, self.counts.open);
        let connection = if refused {
            Connection::refuse(FULL, &self.settings.limits, stamp)
        } else {
            let Some(protocol) = host.protocol(peer) else {
                self.counts.panicked += 1;
                host.leave();
                return host.complain(Complaint::ProtocolPanicked);
            };
            Connection::new(protocol, &self.settings.limits, stamp)
        };
        let readiness = Readiness { until_would_block: self.settings.edge_triggered, ..Readiness::NONE };
        let client = Client { connection, socket, readiness, watched: None, refused };
        let token = match self.clients.insert(client) {
            Ok(token) => token,
            Err(Full(client)) => {
                self.admission.table_full();
                host.watch_listeners(false);
                if !refused {
                    host.leave();
                }
                return drop(client);
            }
        };
        if refused {
            self.counts.refused += 1;
            if self.admission.refused(host.share(REFUSED_AT_ONCE)) {
                host.watch_listeners(false);
            }
        } else {
            self.counts.opened();
        }
        self.serve(host, token, now);
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
            self.turned(host, token, outcome);
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

    fn run_drain(&mut self, host: &mut H, now: Time) {
        let Some(until) = self.drain_until else { return };
        if now >= until {
            while let Some(token) = self.clients.any() {
                if let Some(client) = self.clients.get_mut(token) {
                    client.guarded(host, |connection| connection.abandon(CloseReason::DrainTimeout));
                }
                self.serve(host, token, now);
            }
            return;
        }
        for _ in 0..STEPS_IN_A_TURN {
            let Some(token) = self.clients.not_draining() else { return };
            if let Some(client) = self.clients.get_mut(token) {
                client.connection.drain();
                client.readiness.readable = true;
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

    /// Begins the shutdown (rule 12): takes in who waits in the queues of `listeners` listeners; the caller then
    /// closes those. Harmless when it has begun already.
    pub fn drain(&mut self, host: &mut H, listeners: usize, now: Time) {
        if self.drain_until.is_some() {
            return;
        }
        self.drain_until = Some(now.after(self.settings.drain_ms));
        self.admission.reopen();
        for listener in 0..listeners {
            if self.admission.is_open() {
                self.accept_some(host, listener, now, SWEEP);
            }
        }
        self.admission.close();
    }

    /// Whether a shutdown has begun.
    pub fn is_draining(&self) -> bool {
        self.drain_until.is_some()
    }

    /// Whether a shutdown is over.
    pub fn is_done(&self) -> bool {
        self.drain_until.is_some() && self.clients.is_empty()
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
        self.turned(host, token, outcome);
    }

    /// Does what follows from a client's turn.
    #[inline]
    fn turned(&mut self, host: &mut H, token: Token, outcome: Outcome) {
        match outcome {
            Outcome::Waiting => {}
            Outcome::Again => self.clients.run_again(token),
            // It gave nothing back: to feed another one now would go round for ever.
            Outcome::Starved => {
                self.clients.starve(token);
                return self.clients.settle(token);
            }
            Outcome::Closed(reason) => return self.close(host, token, reason),
        }
        self.clients.settle(token);
        if self.clients.has_starved() && self.clients.get(token).is_some_and(|it| !it.connection.has_buffers()) {
            self.feed();
        }
    }

    /// A client is over: leaves the poller, gives back its buffers, closes its socket.
    fn close(&mut self, host: &mut H, token: Token, reason: CloseReason) {
        let Some(mut client) = self.clients.remove(token) else { return };
        let gives_back = client.connection.has_buffers();
        client.leave(host, token);
        let refused = client.refused;
        if !refused {
            self.counts.closed(reason);
            host.leave();
        }
        if reason == CloseReason::Panicked {
            host.complain(Complaint::ProtocolPanicked);
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

    /// Buffers came back: the client that waited longest for some has work.
    fn feed(&mut self) {
        if let Some(token) = self.clients.next_starved() {
            self.clients.run_again(token);
        }
    }
}
