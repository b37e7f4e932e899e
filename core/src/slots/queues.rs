//! The queues of those with work and of those that wait for buffers.

use super::list::Lane;
use super::{Occupant, Slots, Storage, number};
use crate::token::Token;

impl<E: Occupant, S: Storage<E>> Slots<E, S> {
    /// Notes that an entry has work without a new event.
    pub fn run_again(&mut self, token: Token) {
        self.queue(number::AGAIN, token);
    }

    /// The next entry that has work; it is not noted any more.
    pub fn next_again(&mut self) -> Option<Token> {
        let token = self.token_at(self.list(number::AGAIN).head)?;
        self.unlist(Lane::Again, token.index);
        Some(token)
    }

    /// Whether an entry has work: then nobody sleeps.
    pub fn has_again(&self) -> bool {
        !self.list(number::AGAIN).is_empty()
    }

    /// The last of those that have work: where a turn stops, so that work which comes up in it waits for the
    /// next one.
    pub fn last_again(&self) -> Option<Token> {
        self.token_at(self.list(number::AGAIN).tail)
    }

    /// Notes that an entry can do nothing before there are buffers for it.
    pub fn starve(&mut self, token: Token) {
        self.queue(number::STARVED, token);
    }

    /// Whether an entry waits for buffers.
    #[inline]
    pub fn has_starved(&self) -> bool {
        !self.list(number::STARVED).is_empty()
    }

    /// The entry that waited longest for buffers; it is not noted any more.
    pub fn next_starved(&mut self) -> Option<Token> {
        let token = self.token_at(self.list(number::STARVED).head)?;
        self.unlist(Lane::Again, token.index);
        Some(token)
    }

    fn queue(&mut self, list: u16, token: Token) {
        if self.get(token).is_some() && self.list_of(Lane::Again, token.index) != list {
            self.unlist(Lane::Again, token.index);
            self.enlist(Lane::Again, list, token.index);
        }
    }
}
