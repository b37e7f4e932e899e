//! One client of a server: its connection, its socket and what the poller was told.

use core::borrow::BorrowMut;

use super::host::Host;
use crate::connection::{Connection, Limit};
use crate::drive::Readiness;
use crate::slots::Occupant;
use crate::time::Time;
use crate::token::Token;
use crate::wants::Interest;

/// What a slot of the server's table holds.
pub struct Client<H: Host<N>, const N: usize> {
    pub(super) connection: Connection<H::Protocol, H::Buffers, N>,
    pub(super) socket: H::Socket,
    /// What the poller last said and what was not used up of it.
    pub(super) readiness: Readiness,
    /// What the poller was last told; `None` before it was told anything.
    pub(super) watched: Option<Interest>,
    /// It was told that the server is full, and counts as one of those.
    pub(super) refused: bool,
}

impl<H: Host<N>, const N: usize> Occupant for Client<H, N>
where
    H::Buffers: BorrowMut<crate::Buffers<N>>,
{
    fn named(&mut self, token: Token) {
        self.connection.set_token(token);
    }

    #[inline]
    fn deadline_of(&self, limit: Limit) -> Option<Time> {
        self.connection.deadline_of(limit)
    }

    fn is_draining(&self) -> bool {
        self.connection.is_draining()
    }

    fn restamp(&mut self, began: Time, ended: Time) {
        self.connection.restamp(began, ended);
    }
}
