//! Has the protocol answer everything that input and room allow.

use core::borrow::BorrowMut;

use super::{Connection, Drain, PeerEnd, State, Step, Telling, Unasked};
use crate::buffers::{Buffers, Output};
use crate::protocol::{Next, Protocol};
use crate::reason::CloseReason;
use crate::reply::{Aside, Reply, TimerRequest};
use crate::time::Time;

/// What to do after one step of [`Connection::answer`].
pub(super) enum Flow {
    /// There may be more to answer.
    Go,
    /// Input, room, an answer or buffers must come first.
    Stop,
}

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// Goes on until the peer must send, the peer must take output, an answer must come, or it is over.
    ///
    /// Called after everything that could have changed one of these. It ends: each round takes bytes from the
    /// input, writes to the output, takes a step that cannot be taken twice, or is the last.
    pub(super) fn answer(&mut self, now: Time) {
        while let State::Open(step) = self.state {
            let flow = if self.unasked != Unasked::NONE && self.may_speak_unasked(step) {
                self.speak_unasked(now)
            } else if self.unasked.telling != Telling::Nothing {
                // A reply would land in the middle of what is said.
                Flow::Stop
            } else {
                match step {
                    Step::Line => self.answer_lines(now),
                    Step::RestOfLine => self.drop_rest_of_line(),
                    Step::Body(left) => self.answer_body(left, now),
                    Step::Skip(left) => self.skip(left),
                    Step::Later(..) => Flow::Stop,
                    Step::Refuse(text) => self.refuse_with(text),
                    Step::Open => self.tell(now, |protocol, _, reply| protocol.open(reply)),
                    Step::TooLong => self.tell(now, |protocol, _, reply| protocol.too_long(reply)),
                    Step::BareNewline => self.tell(now, |protocol, _, reply| protocol.bare_newline(reply)),
                    Step::Completed => self.tell(now, |protocol, _, reply| protocol.completed(reply)),
                    Step::Expired => self.tell(now, |protocol, _, reply| protocol.ticket_expired(reply)),
                    Step::End => self.tell(now, |protocol, tail, reply| protocol.end(tail, reply)),
                }
            };
            if let Flow::Stop = flow {
                break;
            }
        }
        self.note_line_begin(now);
        if let State::Flushing(reason) = self.state
            && self.end != PeerEnd::Open
            && self.transmit().is_empty()
        {
            // Both sides have ended: nothing can still arrive, so there is nothing to linger for.
            self.finish(reason);
        }
    }

    /// Without more input nothing goes on, unless none will come: then that is what comes next.
    pub(super) fn input_is_over(&mut self) -> Flow {
        match (self.end, self.drain) {
            (PeerEnd::Seen, _) => {
                self.end = PeerEnd::Told;
                self.state.step(Step::End);
                Flow::Go
            }
            (PeerEnd::Told, _) => self.close(CloseReason::PeerEnd),
            (PeerEnd::Open, Drain::Last) => self.close(CloseReason::Drained),
            (PeerEnd::Open, Drain::Off | Drain::Owed) => Flow::Stop,
        }
    }

    /// Makes a call that needs an empty output; `tail` is what the input holds.
    fn tell(&mut self, now: Time, ask: impl FnOnce(&mut P, &[u8], &mut Reply<'_>) -> Next) -> Flow {
        let (Some(buffers), Some(protocol)) = (&mut self.buffers, &mut self.protocol) else { return Flow::Stop };
        let Buffers { input, output } = buffers.borrow_mut();
        if !output.is_empty() {
            return Flow::Stop;
        }
        let ticket = self.aside.ticket;
        // What is left at the peer's end is what that call gets.
        let behind = if matches!(self.state, State::Open(Step::End)) { 0 } else { input.len() };
        let (next, written, timer) =
            call(output, &mut self.aside, behind, |reply| ask(protocol, input.filled(), reply));
        self.follow(next, Told { written, was_empty: true, ticket, timer }, now)
    }

    /// Writes what fits of the text for a refused client.
    fn refuse_with(&mut self, text: &'static [u8]) -> Flow {
        let Some(buffers) = &mut self.buffers else { return Flow::Stop };
        let output = &mut buffers.borrow_mut().output;
        let (now, later) = text.split_at_checked(output.room()).unwrap_or((text, &[]));
        output.append(now);
        if later.is_empty() {
            self.close(CloseReason::Refused)
        } else {
            self.state.step(Step::Refuse(later));
            Flow::Stop
        }
    }

    /// Does what the protocol said comes next.
    pub(super) fn follow(&mut self, next: Next, told: Told, now: Time) -> Flow {
        self.set_timer(told.timer, now);
        self.again = next == Next::More;
        let ended = matches!(self.state, State::Open(Step::End));
        if ended
            && next != Next::More
            && let Some(buffers) = &mut self.buffers
        {
            buffers.borrow_mut().input.clear();
        }
        match next {
            Next::More if told.written == 0 && told.was_empty => self.close(CloseReason::NoProgress),
            Next::More => Flow::Stop,
            Next::Close if ended => self.close(CloseReason::PeerEnd),
            Next::Close => self.close(CloseReason::Protocol),
            Next::Line | Next::Body(_) | Next::Skip(_) if ended => {
                debug_assert!(next == Next::Line, "nothing follows the peer's end");
                self.close(CloseReason::PeerEnd)
            }
            Next::Line => self.next_line(),
            Next::Body(left) => {
                self.state.step(Step::Body(left));
                Flow::Go
            }
            Next::Skip(left) => {
                self.state.step(Step::Skip(left));
                Flow::Go
            }
            Next::Later(ticket) if ticket.serial == self.aside.ticket && ticket.serial != told.ticket => {
                self.state.later(ticket, now);
                Flow::Stop
            }
            Next::Later(_) => self.close(CloseReason::NoProgress),
        }
    }

    /// A line comes next, behind the rest of one that was refused.
    pub(super) fn next_line(&mut self) -> Flow {
        self.state.step(if self.drop_line { Step::RestOfLine } else { Step::Line });
        Flow::Go
    }

    /// Carries out what the call asked of the timer.
    #[inline]
    pub(super) fn set_timer(&mut self, asked: TimerRequest, now: Time) {
        match asked {
            TimerRequest::Keep => return,
            TimerRequest::Set(ms) => self.timer_due = now.after(ms),
            TimerRequest::Stop => self.timer_due = Time::NEVER,
        }
        // If it was not told yet: the setting that made it due is no more.
        self.unasked.timer = false;
    }

    /// Notes when the first byte of a line came, once nothing but that line is buffered.
    #[inline]
    pub(super) fn note_line_begin(&mut self, now: Time) {
        if self.line_began == Time::NEVER && self.transmit().is_empty() {
            let has_begun = match self.state {
                State::Open(Step::Line) => self.has_unread_input(),
                // What there was of it is dropped already.
                State::Open(Step::RestOfLine) => true,
                State::Open(_) | State::Flushing(_) | State::Lingering(..) | State::Closed(_) => false,
            };
            if has_begun {
                self.line_began = now;
            }
        }
    }

    /// Takes no more input; what was buffered of it is dropped: nothing behind the end is answered.
    pub(super) fn close(&mut self, reason: CloseReason) -> Flow {
        if let Some(buffers) = &mut self.buffers {
            buffers.borrow_mut().input.clear();
        }
        self.again = false;
        self.state.close(reason);
        Flow::Stop
    }
}

/// What was seen around one call of the protocol.
pub(super) struct Told {
    /// Bytes that it wrote.
    pub written: usize,
    /// Whether the output was empty before.
    pub was_empty: bool,
    /// The ticket that was the last one before.
    pub ticket: u32,
    /// What it asked of the timer.
    pub timer: TimerRequest,
}

/// Lends the free output for one call and keeps what was written; says how much, and what was asked
/// of the timer. `behind` is the input that the call does not get.
#[inline]
pub(super) fn call<const N: usize>(
    output: &mut Output<N>,
    aside: &mut Aside,
    behind: usize,
    ask: impl FnOnce(&mut Reply<'_>) -> Next,
) -> (Next, usize, TimerRequest) {
    let mut reply = Reply { free: output.space(), written: 0, behind, timer: TimerRequest::Keep, aside };
    let next = ask(&mut reply);
    let (written, timer) = (reply.written, reply.timer);
    output.fill(written);
    (next, written, timer)
}
