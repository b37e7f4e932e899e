//! The states of a connection and every change between them.

use crate::reason::CloseReason;
use crate::time::Time;
use crate::token::Ticket;

/// Where a connection is in its life; [`Connection`](super::Connection) has the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Waits for input, for room, or for an answer, as the step says.
    Open(Step),
    /// Waits for the peer to take the last replies. No more input is taken.
    Flushing(CloseReason),
    /// Waits for the peer's end, until a moment; what still arrives is discarded.
    Lingering(CloseReason, Time),
    /// Waits for nothing.
    Closed(CloseReason),
}

/// What an open connection does with its next bytes, or which call of the protocol comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Waits for room for the greeting.
    Open,
    /// Waits for buffers, then tells a refused client this text.
    Refuse(&'static [u8]),
    /// Waits for a whole line.
    Line,
    /// Waits for the end of a line that is dropped.
    RestOfLine,
    /// Waits for this many bytes of a body.
    Body(u64),
    /// Waits for this many bytes that are dropped.
    Skip(u64),
    /// Waits for room to say that a line is too long.
    TooLong,
    /// Waits for room to say that a newline came without its CR.
    BareNewline,
    /// Waits for the answer that a ticket stands for, until a moment.
    Later(u32, Time),
    /// Waits for room for the answer that came.
    Completed,
    /// Waits for room to say that no answer came.
    Expired,
    /// Waits for room for the answer to the peer's end.
    End,
}

impl State {
    /// A new connection greets first.
    pub const fn new() -> Self {
        Self::Open(Step::Open)
    }

    /// A refused connection is told so and closed.
    pub const fn refuse(text: &'static [u8]) -> Self {
        Self::Open(Step::Refuse(text))
    }

    /// Takes the next step. Only an open connection takes steps.
    #[inline]
    pub fn step(&mut self, step: Step) {
        if let Self::Open(_) = self {
            *self = Self::Open(step);
        }
    }

    /// Waits for the answer that `ticket` stands for.
    pub fn later(&mut self, ticket: Ticket, now: Time) {
        let until = if ticket.timeout_ms == 0 { Time::NEVER } else { now.after(ticket.timeout_ms) };
        self.step(Step::Later(ticket.serial, until));
    }

    /// Takes no more input: what is pending leaves, then comes the end.
    pub fn close(&mut self, reason: CloseReason) {
        if let Self::Open(_) = self {
            *self = Self::Flushing(reason);
        }
    }

    /// Our sending side was shut: what still arrives until `until` is discarded.
    pub fn shut(&mut self, until: Time) {
        if let Self::Flushing(reason) = *self {
            *self = Self::Lingering(reason, until);
        }
    }

    /// A linger that was to end at `from` ends at `to`.
    pub fn restamp(&mut self, from: Time, to: Time) {
        if let Self::Lingering(_, until) = self
            && *until == from
        {
            *until = to;
        }
    }

    /// It is over. A connection that only lingered keeps the reason for which it was closed, and so does one
    /// that is over already. Says whether this call ended it.
    pub fn end(&mut self, reason: CloseReason) -> Option<CloseReason> {
        let reason = match *self {
            Self::Open(_) | Self::Flushing(_) => reason,
            Self::Lingering(reason, _) => reason,
            Self::Closed(_) => return None,
        };
        *self = Self::Closed(reason);
        Some(reason)
    }
}
