//! What a connection wants, computed from its state and its buffers.

use core::borrow::BorrowMut;

use super::{Connection, Drain, PeerEnd, State, Step, Unasked};
use crate::buffers::Buffers;
use crate::protocol::Protocol;
use crate::wants::{Action, Interest, Waiting, Wants};

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// The next thing to do with the transport.
    #[inline]
    pub fn action(&self) -> Action {
        let Some(buffers) = &self.buffers else {
            return self.action_without_buffers();
        };
        if !buffers.borrow().output.is_empty() {
            return Action::Send;
        }
        match self.state {
            State::Open(Step::Later(..)) => Action::Wait,
            State::Open(_) => Action::Receive,
            State::Flushing(_) => Action::ShutdownWrite,
            State::Lingering(..) => Action::Receive,
            State::Closed(reason) => Action::Close(reason),
        }
    }

    fn action_without_buffers(&self) -> Action {
        match self.state {
            State::Open(Step::Later(..)) => Action::Wait,
            State::Open(_) | State::Lingering(..) => Action::Lend,
            State::Flushing(_) => Action::ShutdownWrite,
            State::Closed(reason) => Action::Close(reason),
        }
    }

    /// The readiness to watch for.
    #[inline]
    pub fn interest(&self) -> Interest {
        match self.action() {
            Action::Receive => Interest::Read,
            Action::Send => Interest::Write,
            Action::Lend if self.waits_for_input() => Interest::Read,
            Action::Lend | Action::ShutdownWrite | Action::Wait | Action::Close(_) => Interest::None,
        }
    }

    /// Everything a driver has to know between two events.
    pub fn wants(&self) -> Wants {
        let action = self.action();
        let waiting = match action {
            Action::Receive if matches!(self.state, State::Lingering(..)) => Waiting::ForPeerEnd,
            Action::Receive => Waiting::ForInput,
            Action::Send => Waiting::ForRoom,
            Action::ShutdownWrite => Waiting::ForShutdown,
            Action::Lend if matches!(self.state, State::Lingering(..)) => Waiting::ForPeerEnd,
            Action::Lend if self.waits_for_input() => Waiting::ForInput,
            Action::Lend => Waiting::ForBuffers,
            Action::Wait => Waiting::ForAnswer,
            Action::Close(_) => Waiting::Over,
        };
        Wants { interest: self.interest(), action, deadline: self.deadline(), waiting }
    }

    /// Whether it has answered everything and nothing but a byte of the peer's can change that: the common case
    /// after a send, worth telling apart.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        matches!(self.state, State::Open(Step::Line))
            && !self.has_unread_input()
            && self.unasked == Unasked::NONE
            && self.end == PeerEnd::Open
            && self.drain == Drain::Off
    }

    /// Whether all that is buffered is the beginning of a line, and known to be: more room for output changes nothing.
    /// A full buffer without a newline never comes here: that line is too long, and the step is another.
    #[inline]
    pub(super) fn lacks_rest_of_line(&self) -> bool {
        matches!(self.state, State::Open(Step::Line))
            && self.buffers.as_ref().is_some_and(|buffers| buffers.borrow().input.is_part_of_line())
            && self.unasked == Unasked::NONE
            && self.end == PeerEnd::Open
            && self.drain == Drain::Off
    }

    /// Whether the next thing it needs is a byte of the peer's; buffers are needed only then.
    fn waits_for_input(&self) -> bool {
        match self.state {
            State::Open(step) => {
                self.unasked == Unasked::NONE
                    && self.drain == Drain::Off
                    && self.end == PeerEnd::Open
                    && matches!(step, Step::Line | Step::RestOfLine | Step::Body(1..) | Step::Skip(_))
            }
            State::Lingering(..) => true,
            State::Flushing(_) | State::Closed(_) => false,
        }
    }
}
