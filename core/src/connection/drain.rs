//! The shutdown of the server, as one connection sees it (rule 12).

use core::borrow::BorrowMut;

use super::Connection;
use crate::buffers::Buffers;
use crate::protocol::Protocol;
use crate::time::Time;

/// How far a shutdown of the server has come for one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drain {
    /// None is under way.
    Off,
    /// One more turn to receive is owed.
    Owed,
    /// What is buffered is answered, then it closes.
    Last,
}

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// The server shuts down: one more turn to receive is owed, then complete lines are answered, an
    /// unterminated tail is dropped and the connection closes (rule 12).
    ///
    /// The driver says with [`drained`](Self::drained) that the last turn is over.
    pub fn drain(&mut self) {
        if self.drain == Drain::Off {
            self.drain = Drain::Owed;
        }
    }

    /// Whether [`drain`](Self::drain) was called.
    pub fn is_draining(&self) -> bool {
        self.drain != Drain::Off
    }

    /// Whether the last turn to receive is still owed.
    pub fn owes_receive(&self) -> bool {
        self.drain == Drain::Owed
    }

    /// The last turn to receive is over.
    pub fn drained(&mut self, now: Time) {
        if self.drain == Drain::Owed {
            self.drain = Drain::Last;
            self.answer(now);
        }
    }
}
