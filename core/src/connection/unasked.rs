//! What is said without being asked: pushes, and the calls of the protocol for which nobody waits.

use core::borrow::BorrowMut;

use super::answer::{Flow, call};
use super::{Connection, State, Step};
use crate::buffers::Buffers;
use crate::protocol::{Next, Protocol};
use crate::reason::CloseReason;
use crate::reply::NoRoom;
use crate::time::Time;

/// Calls of the protocol for which nobody waits. They are made between replies, when the output is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unasked {
    /// The protocol's timer is due.
    pub timer: bool,
    /// Pushes that were refused and of which the protocol was not told to the end.
    pub missed: u32,
    /// The one that was made and has more to say: nothing else may be said in between.
    pub telling: Telling,
}

/// Which of the [`Unasked`] calls has more to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    Nothing,
    Timer,
    Missed,
}

impl Unasked {
    pub const NONE: Self = Self { timer: false, missed: 0, telling: Telling::Nothing };
}

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// Sends `bytes` without being asked, between two replies.
    ///
    /// # Errors
    /// [`NoRoom`] when they do not fit behind what is pending, when a reply is not complete, when there are no
    /// buffers, or when the connection takes no more; then nothing of them is sent. The protocol's
    /// [`missed`](Protocol::missed) is called as soon as there is room, unless no room would be enough; until then every
    /// push is refused, so that what it says of them stands where they would have been.
    pub fn push(&mut self, bytes: &[u8], now: Time) -> Result<(), NoRoom> {
        let pushed = self.push_or_refuse(bytes, now);
        // An empty output that is too small for them stays too small.
        let waits = !self.has_buffers() || !self.transmit().is_empty();
        if pushed.is_err() && waits && matches!(self.state, State::Open(_)) {
            self.unasked.missed = self.unasked.missed.saturating_add(1);
        }
        pushed
    }

    fn push_or_refuse(&mut self, bytes: &[u8], now: Time) -> Result<(), NoRoom> {
        let between = matches!(self.state, State::Open(step)
            if step != Step::Open
                && !self.again
                && self.unasked.missed == 0
                && self.unasked.telling == Telling::Nothing);
        match &mut self.buffers {
            Some(buffers) if between && self.protocol.is_some() => {
                let output = &mut buffers.borrow_mut().output;
                let begins = output.is_empty() && !bytes.is_empty();
                if !output.append(bytes) {
                    return Err(NoRoom);
                }
                if begins {
                    self.moved = now;
                }
                Ok(())
            }
            _ => Err(NoRoom),
        }
    }

    /// The timer and what was missed wait for an empty output, for the end of a reply, and for an answer that is under
    /// way.
    pub(super) fn may_speak_unasked(&self, step: Step) -> bool {
        !self.again
            && matches!(step, Step::Line | Step::RestOfLine | Step::Body(_) | Step::Skip(_))
            && self.has_buffers()
            && self.transmit().is_empty()
    }

    /// Makes the call that has more to say, or else one that is due.
    pub(super) fn speak_unasked(&mut self, now: Time) -> Flow {
        let (Some(buffers), Some(protocol)) = (&mut self.buffers, &mut self.protocol) else { return Flow::Stop };
        let telling = match self.unasked.telling {
            Telling::Nothing if self.unasked.timer => {
                // What it sets while it is told stays set when it is asked for the rest.
                self.timer_due = Time::NEVER;
                self.unasked.timer = false;
                Telling::Timer
            }
            Telling::Nothing => Telling::Missed,
            more @ (Telling::Timer | Telling::Missed) => more,
        };
        let Buffers { input, output } = buffers.borrow_mut();
        let missed = self.unasked.missed;
        let (next, written, timer) = call(output, &mut self.aside, input.len(), |reply| match telling {
            Telling::Timer => protocol.timer(reply),
            Telling::Missed | Telling::Nothing => protocol.missed(missed, reply),
        });
        if next == Next::More {
            self.unasked.telling = telling;
        } else {
            self.unasked.telling = Telling::Nothing;
            if telling == Telling::Missed {
                self.unasked.missed = 0;
            }
        }
        self.set_timer(timer, now);
        match next {
            Next::Close => self.close(CloseReason::Protocol),
            Next::More if written == 0 => self.close(CloseReason::NoProgress),
            Next::More => Flow::Stop,
            Next::Line | Next::Body(_) | Next::Skip(_) | Next::Later(_) => {
                let name = if telling == Telling::Timer { "timer" } else { "missed" };
                debug_assert!(next == Next::Line, "`{name}` may not change what comes next");
                Flow::Go
            }
        }
    }
}
