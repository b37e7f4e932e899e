//! One connection as a state machine without I/O.

mod answer;
mod body;
mod deadline;
mod drain;
mod lines;
mod state;
mod unasked;
mod wants;

use core::borrow::BorrowMut;

use crate::buffers::{BUFFER_BYTES, Buffers};
use crate::limits::Limits;
use crate::protocol::Protocol;
use crate::reason::CloseReason;
use crate::reply::Aside;
use crate::time::Time;
use crate::token::{Late, Ticket, Token};
use crate::wants::Action;

pub use deadline::Deadlines;
use drain::Drain;
use state::{State, Step};
use unasked::{Telling, Unasked};

/// One connection: bytes in, replies and changes of interest out.
///
/// It does no I/O and reads no clock. A driver owns the transport and the time and goes round this loop;
/// [`drive`](crate::drive()) is its readiness form, shared by the event loops and the simulation:
///
/// 1. When [`action`](Self::action) is `Lend` and there is work for buffers: [`lend`](Self::lend) some. A new connection
///    writes its greeting now.
/// 2. While [`transmit`](Self::transmit) is not empty: send it, say [`transmitted`](Self::transmitted). Nothing
///    is received meanwhile, so a blocking transport cannot lock itself up.
/// 3. When [`action`](Self::action) is `Receive`: receive into [`receive_space`](Self::receive_space), say
///    [`received`](Self::received), or [`received_end`](Self::received_end) at the end of the stream; go to 2.
/// 4. When it is `ShutdownWrite`: shut the sending side, say [`write_shut`](Self::write_shut); go to 3.
/// 5. When it is `Close`: close the transport, in the way that still delivers what it took: the last replies may be
///    on their way. close(2) does; a stack in user space has a call that ends a stream and one that resets it, and a
///    driver that buffers for itself sends that first.
/// 6. When nothing can be done without waiting: [`reclaim`](Self::reclaim) the buffers if they are empty, watch
///    for [`interest`](Self::interest), and call [`handle_timeout`](Self::handle_timeout) at
///    [`deadline`](Self::deadline), after one more attempt to receive. Then go to 1.
/// 7. An error of the transport at any point: [`failed`](Self::failed).
///
/// Without buffers the action of a connection that waits for its peer is `Lend` too: there is work for them when the
/// peer has sent, or when the interest is not `Read`. A driver that lends at every `Lend` and reclaims whenever it can
/// goes round for ever.
///
/// # States
///
/// ```text
///            lines are answered                 replies leave              our side is shut
///           ┌──────────────────┐    close     ┌────────────┐    shut      ┌───────────┐
///  new ────▶│ Open             ├─────────────▶│ Flushing   ├─────────────▶│ Lingering │
///           └────────┬─────────┘              └─────┬──────┘              └─────┬─────┘
///                    │ failed, timed out            │ failed, timed out,        │ peer's end,
///                    │                              │ or the peer had ended     │ failed, 2 s
///                    ▼                              ▼                           ▼
///           ┌─────────────────────────────────────────────────────────────────────────┐
///           │                             Closed(reason)                              │
///           └─────────────────────────────────────────────────────────────────────────┘
/// ```
///
/// # Calls
///
/// Everything that a call returned is stale after the next `&mut` call. Calls that do not fit the state, or come
/// early, or twice, are harmless: they change nothing, and bytes for which there is no use are dropped.
///
/// ```
/// use evserver_core::{Action, Buffers, Connection, Limits, NumberedEcho, Time};
///
/// let now = Time::from_ms(0);
/// let mut buffers = Buffers::<4096>::new();
/// let mut connection = Connection::new(NumberedEcho::new(), &Limits::new(), now);
///
/// connection.lend(&mut buffers, now);                                 // 1
/// assert_eq!(connection.transmit(), b"ready\n");
/// connection.transmitted(6, now);                                     // 2
///
/// assert_eq!(connection.action(), Action::Receive);
/// connection.receive_space()[..8].copy_from_slice(b"hello\nqu");      // 3
/// connection.received(8, now);
/// assert_eq!(connection.transmit(), b"1: hello\n");
/// connection.transmitted(9, now);
/// assert!(connection.reclaim().is_none(), "half a line is buffered"); // 6
///
/// connection.receive_space()[..3].copy_from_slice(b"it\n");           // 3
/// connection.received(3, now);
/// assert_eq!(connection.transmit(), b"bye\n");
/// connection.transmitted(4, now);
///
/// assert_eq!(connection.action(), Action::ShutdownWrite);             // 4
/// connection.write_shut(now);
/// assert_eq!(connection.action(), Action::Receive, "the peer may still be sending");
/// connection.received_end(now);
/// assert!(matches!(connection.action(), Action::Close(_)));           // 5
/// ```
#[derive(Debug)]
pub struct Connection<P, B, const N: usize = BUFFER_BYTES> {
    /// `None` for a refused client, and after a panic.
    protocol: Option<P>,
    buffers: Option<B>,
    state: State,
    /// When the last byte moved, or when the present wait began if that is later.
    moved: Time,
    /// When the first byte of the line that is not complete came; `NEVER` while there is none.
    line_began: Time,
    /// When the protocol's timer is due; `NEVER` while none is set.
    timer_due: Time,
    aside: Aside,
    limits: Limits,
    end: PeerEnd,
    drain: Drain,
    /// The last call said `More`: it is repeated when the output is empty.
    again: bool,
    /// The line that is being received was refused: what is left of it is no line.
    drop_line: bool,
    unasked: Unasked,
}

/// What is known of the peer's end of stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerEnd {
    /// It may still send.
    Open,
    /// It has ended; lines that came before are answered first.
    Seen,
    /// It has ended and the protocol was told.
    Told,
}

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// A connection that was just made. It needs buffers before it can greet.
    pub const fn new(protocol: P, limits: &Limits, now: Time) -> Self {
        Self::with_state(Some(protocol), State::new(), limits, now)
    }

    /// A connection that is told `text` and closed (rule 10). It has no protocol.
    ///
    /// `text` that is larger than the buffer leaves in pieces.
    pub const fn refuse(text: &'static [u8], limits: &Limits, now: Time) -> Self {
        Self::with_state(None, State::refuse(text), limits, now)
    }

    const fn with_state(protocol: Option<P>, state: State, limits: &Limits, now: Time) -> Self {
        Self {
            protocol,
            buffers: None,
            state,
            moved: now,
            line_began: Time::NEVER,
            timer_due: Time::NEVER,
            aside: Aside { token: Token { index: 0, generation: 0 }, ticket: 0 },
            limits: *limits,
            end: PeerEnd::Open,
            drain: Drain::Off,
            again: false,
            drop_line: false,
            unasked: Unasked::NONE,
        }
    }

    /// Lends empty buffers, in exchange for none; a connection that has some keeps those and drops these.
    ///
    /// What waited for buffers goes on: the greeting, an answer that came, a timer.
    pub fn lend(&mut self, buffers: B, now: Time) {
        if self.buffers.is_none() {
            let buffers = self.buffers.insert(buffers);
            let buffers = (*buffers).borrow_mut();
            if !buffers.is_empty() {
                buffers.clear();
            }
            if !self.is_at_rest() {
                self.answer(now);
            }
        }
    }

    /// Takes the buffers back: `Some` only when both are empty.
    pub fn reclaim(&mut self) -> Option<B> {
        if self.buffers.as_ref().is_some_and(|buffers| buffers.borrow().is_empty()) {
            self.buffers.take()
        } else {
            None
        }
    }

    /// Whether buffers are lent at present.
    pub fn has_buffers(&self) -> bool {
        self.buffers.is_some()
    }

    /// Where the driver receives to. Empty when nothing may be received: see [`action`](Self::action).
    #[inline]
    pub fn receive_space(&mut self) -> &mut [u8] {
        let may_receive = self.action() == Action::Receive;
        match &mut self.buffers {
            Some(buffers) if may_receive => buffers.borrow_mut().input.space(),
            _ => &mut [],
        }
    }

    /// `n` bytes were received into [`receive_space`](Self::receive_space): answers what they complete.
    ///
    /// More than the space counts as all of it. 0 is no news; the end of the stream is
    /// [`received_end`](Self::received_end).
    #[inline]
    pub fn received(&mut self, n: usize, now: Time) {
        if n == 0 || self.action() != Action::Receive {
            return;
        }
        self.moved = now;
        if let (State::Open(_), Some(buffers)) = (self.state, &mut self.buffers) {
            buffers.borrow_mut().input.fill(n);
            self.answer(now);
        }
    }

    /// The peer ended its stream: a receive gave 0 bytes. Lines that came before are still answered.
    pub fn received_end(&mut self, now: Time) {
        if self.end != PeerEnd::Open {
            return;
        }
        self.end = PeerEnd::Seen;
        match self.state {
            State::Open(_) => self.answer(now),
            State::Flushing(reason) if self.transmit().is_empty() => self.finish(reason),
            State::Lingering(reason, _) => self.finish(reason),
            State::Flushing(_) | State::Closed(_) => {}
        }
    }

    /// The output that is pending.
    #[inline]
    pub fn transmit(&self) -> &[u8] {
        match &self.buffers {
            Some(buffers) => buffers.borrow().output.pending(),
            None => &[],
        }
    }

    /// The transport took the first `n` bytes of [`transmit`](Self::transmit): goes on with buffered lines when
    /// there is room again.
    #[inline]
    pub fn transmitted(&mut self, n: usize, now: Time) {
        let Some(buffers) = &mut self.buffers else { return };
        let output = &mut buffers.borrow_mut().output;
        if n == 0 || output.is_empty() {
            return;
        }
        output.consume(n);
        self.moved = now;
        if output.is_empty() {
            // A peer that was not read could not complete its line: the limit for it starts here.
            self.line_began = Time::NEVER;
        }
        if self.lacks_rest_of_line() {
            self.note_line_begin(now);
        } else if !self.is_at_rest() {
            self.answer(now);
        }
    }

    /// The sending side of the transport was shut: what still arrives is discarded until the peer's end.
    pub fn write_shut(&mut self, now: Time) {
        if self.action() == Action::ShutdownWrite {
            self.state.shut(now.after(self.limits.linger_ms));
        }
    }

    /// The transport is gone; input that was not answered and output that was not sent are lost.
    pub fn failed(&mut self) {
        self.finish(CloseReason::Failed);
    }

    /// The protocol panicked in a call of this connection: it is dropped without another call.
    ///
    /// For drivers that can catch panics. What the protocol wrote in that call is lost, and so is what was
    /// pending.
    pub fn panicked(&mut self) {
        let protocol = self.protocol.take();
        self.finish(CloseReason::Panicked);
        // Last, since it may panic again.
        drop(protocol);
    }

    /// Closes at once, with `reason`: a drain that took too long, for one.
    pub fn abandon(&mut self, reason: CloseReason) {
        self.finish(reason);
    }

    /// Hands over the answer that `ticket` stands for: `answer` stores it in the protocol, whose
    /// [`completed`](Protocol::completed) is then called as soon as there is an empty output to write to.
    ///
    /// # Errors
    /// [`Late`] when nobody waits for it any more; then `answer` is not called.
    pub fn complete(&mut self, ticket: Ticket, now: Time, answer: impl FnOnce(&mut P)) -> Result<(), Late> {
        match (self.state, &mut self.protocol) {
            (State::Open(Step::Later(serial, _)), Some(protocol))
                if ticket.serial == serial && ticket.token == self.aside.token =>
            {
                answer(protocol);
                self.state.step(Step::Completed);
                self.moved = now;
                self.answer(now);
                Ok(())
            }
            _ => Err(Late),
        }
    }

    /// Whether bytes are buffered that the protocol has not seen.
    ///
    /// A command that changes who is spoken to (STARTTLS and its like) must be refused while this is true, or
    /// what was pipelined in the clear would count as said in private.
    #[inline]
    pub fn has_unread_input(&self) -> bool {
        self.buffers.as_ref().is_some_and(|buffers| !buffers.borrow().input.is_empty())
    }

    /// The protocol; `None` for a refused client and after a panic.
    pub fn protocol(&self) -> Option<&P> {
        self.protocol.as_ref()
    }

    /// The name by which replies and tickets know this connection. [`Slots`](crate::Slots) sets it.
    pub fn set_token(&mut self, token: Token) {
        self.aside.token = token;
    }

    /// Ends it: buffers are emptied, so that they can be reclaimed, and the protocol is told once.
    fn finish(&mut self, reason: CloseReason) {
        if let Some(reason) = self.state.end(reason) {
            if let Some(buffers) = &mut self.buffers {
                buffers.borrow_mut().clear();
            }
            if let Some(protocol) = &mut self.protocol {
                protocol.closed(reason);
            }
        }
    }
}

#[cfg(test)]
mod tests;
