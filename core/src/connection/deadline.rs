//! The deadlines of a connection: computed in one place, to ask for them and to act on them.

use core::borrow::BorrowMut;

use super::{Connection, State, Step};
use crate::buffers::Buffers;
use crate::protocol::Protocol;
use crate::reason::CloseReason;
use crate::time::Time;

/// A kind of deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing moved for too long.
    Idle,
    /// The peer's end did not come after ours.
    Linger,
    /// A line is not complete.
    Line,
    /// An answer did not come.
    Ticket,
    /// The protocol's own timer.
    Timer,
}

impl Limit {
    /// All kinds; at one moment, the one named first acts first.
    const ALL: [Self; 5] = [Self::Linger, Self::Ticket, Self::Timer, Self::Line, Self::Idle];
}

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn deadline(&self) -> Option<Time> {
        self.next_limit().map(|(deadline, _)| deadline)
    }

    /// When one kind of deadline is due, if it is running.
    pub fn deadline_of(&self, limit: Limit) -> Option<Time> {
        let pending = !self.transmit().is_empty();
        let deadline = match (limit, self.state) {
            // While the answer comes from elsewhere the peer is not the one that idles.
            (Limit::Idle, State::Open(Step::Later(..))) if !pending => Time::NEVER,
            (Limit::Idle, State::Open(_) | State::Flushing(_)) if self.limits.idle_ms != 0 => {
                self.moved.after(self.limits.idle_ms)
            }
            (Limit::Linger, State::Lingering(_, until)) => until,
            // A peer that is not being read cannot complete its line.
            (Limit::Line, State::Open(Step::Line | Step::RestOfLine)) if self.limits.line_ms != 0 && !pending => {
                self.line_began.after(self.limits.line_ms)
            }
            (Limit::Ticket, State::Open(Step::Later(_, until))) => until,
            (Limit::Timer, State::Open(_)) if !self.timer_fired => self.timer_due,
            (Limit::Idle | Limit::Linger | Limit::Line | Limit::Ticket | Limit::Timer, _) => Time::NEVER,
        };
        (deadline != Time::NEVER).then_some(deadline)
    }

    /// Acts on every deadline that is due; harmless when none is.
    ///
    /// A driver gives a connection whose deadline is due one attempt to receive first (rule 8): the process may
    /// have been stopped, and what arrived in time is served.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((deadline, limit)) = self.next_limit() {
            if now < deadline {
                return;
            }
            match limit {
                Limit::Linger => self.finish(CloseReason::PeerEnd),
                Limit::Idle => self.finish(CloseReason::IdleTimeout),
                Limit::Line => self.finish(CloseReason::LineTimeout),
                Limit::Ticket => {
                    self.state.step(Step::Expired);
                    self.moved = now;
                    self.answer(now);
                }
                Limit::Timer => {
                    self.timer_fired = true;
                    self.answer(now);
                }
            }
        }
    }

    fn next_limit(&self) -> Option<(Time, Limit)> {
        let mut next = None;
        for limit in Limit::ALL {
            if let Some(deadline) = self.deadline_of(limit)
                && next.is_none_or(|(earliest, _)| deadline < earliest)
            {
                next = Some((deadline, limit));
            }
        }
        next
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
