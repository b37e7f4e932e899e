//! The deadlines of a connection: computed in one place, to ask for them and to act on them.

use core::borrow::BorrowMut;

use super::{Connection, State, Step, Telling};
use crate::buffers::Buffers;
use crate::protocol::Protocol;
use crate::reason::CloseReason;
use crate::time::Time;

/// When each kind of deadline is due; [`Time::NEVER`] where none is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Nothing moved for too long.
    pub idle: Time,
    /// The peer's end did not come after ours.
    pub linger: Time,
    /// A line is not complete.
    pub line: Time,
    /// An answer did not come.
    pub ticket: Time,
    /// The protocol's own timer.
    pub timer: Time,
}

impl Deadlines {
    /// None is running.
    pub const NONE: Self =
        Self { idle: Time::NEVER, linger: Time::NEVER, line: Time::NEVER, ticket: Time::NEVER, timer: Time::NEVER };

    /// The earliest of them.
    #[inline]
    pub fn earliest(&self) -> Time {
        let Self { idle, linger, line, ticket, timer } = *self;
        idle.min(linger).min(line).min(ticket).min(timer)
    }
}

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn deadline(&self) -> Option<Time> {
        let earliest = self.deadlines().earliest();
        (earliest != Time::NEVER).then_some(earliest)
    }

    /// When each kind of deadline is due.
    #[inline]
    pub fn deadlines(&self) -> Deadlines {
        let mut due = Deadlines::NONE;
        if matches!(self.state, State::Open(Step::Line))
            && self.limits.line_ms == 0
            && self.timer_due == Time::NEVER
        {
            // The common case, told apart since it is asked for after every turn.
            due.idle = self.idle_deadline();
            return due;
        }
        let pending = !self.transmit().is_empty();
        match self.state {
            State::Open(step) => {
                match step {
                    Step::Later(_, until) => due.ticket = until,
                    // A peer that is not being read cannot complete its line.
                    Step::Line | Step::RestOfLine if self.limits.line_ms != 0 && !pending => {
                        due.line = self.line_began.after(self.limits.line_ms);
                    }
                    Step::Open
                    | Step::Refuse(_)
                    | Step::Line
                    | Step::RestOfLine
                    | Step::Body(_)
                    | Step::Skip(_) => {}
                    Step::TooLong | Step::BareNewline | Step::Completed | Step::Expired | Step::End => {}
                }
                // While the answer comes from elsewhere the peer is not the one that idles.
                if pending || !matches!(step, Step::Later(..)) {
                    due.idle = self.idle_deadline();
                }
                if !self.unasked.timer && self.unasked.telling != Telling::Timer {
                    due.timer = self.timer_due;
                }
            }
            State::Flushing(_) => due.idle = self.idle_deadline(),
            State::Lingering(_, until) => due.linger = until,
            State::Closed(_) => {}
        }
        due
    }

    #[inline]
    fn idle_deadline(&self) -> Time {
        if self.limits.idle_ms == 0 { Time::NEVER } else { self.moved.after(self.limits.idle_ms) }
    }

    /// Acts on every deadline that is due; harmless when none is.
    ///
    /// A driver gives a connection whose deadline is due one attempt to receive first (rule 8): the process may
    /// have been stopped, and what arrived in time is served.
    pub fn handle_timeout(&mut self, now: Time) {
        loop {
            let due = self.deadlines();
            if now < due.earliest() || due == Deadlines::NONE {
                return;
            }
            if due.linger <= now {
                self.finish(CloseReason::PeerEnd);
            } else if due.ticket <= now {
                self.state.step(Step::Expired);
                self.moved = now;
                self.answer(now);
            } else if due.timer <= now {
                self.unasked.timer = true;
                self.answer(now);
            } else if due.line <= now {
                self.finish(CloseReason::LineTimeout);
            } else {
                self.finish(CloseReason::IdleTimeout);
            }
        }
    }

    /// Says that what was told to have happened at `began` happened at `ended`.
    ///
    /// For a driver that reads its clock once a turn: bytes of a long turn moved at its end at the latest, and
    /// no limit may fire early.
    pub fn restamp(&mut self, began: Time, ended: Time) {
        for moment in [&mut self.moved, &mut self.line_began] {
            if *moment == began {
                *moment = ended;
            }
        }
        self.state.restamp(began.after(self.limits.linger_ms), ended.after(self.limits.linger_ms));
    }
}
