//! The table of connections: names, deadlines and the queue of those with work.

mod deadlines;
mod list;
mod number;
mod queues;
mod storage;
mod wheel;

use core::marker::PhantomData;

use list::{Lane, List, NONE};
pub use storage::{Slot, Storage};
use wheel::Wheel;

use crate::connection::Deadlines;
use crate::time::Time;
use crate::token::Token;

/// What a table asks of what it holds.
pub trait Occupant {
    /// The name it has in the table, told once.
    fn named(&mut self, token: Token);

    /// When each kind of deadline is due.
    fn deadlines(&self) -> Deadlines;

    /// Whether it was told that the server shuts down.
    fn is_draining(&self) -> bool;

    /// What was told to have happened at `began` happened at `ended`.
    fn restamp(&mut self, began: Time, ended: Time);
}

/// The table is full and its storage does not grow; here is the entry back.
#[derive(Debug)]
pub struct Full<E>(pub E);

/// A table over memory that the caller lends.
///
/// An entry is found by its [`Token`] in constant time, and a token of an entry that left finds nothing. The
/// table keeps the deadlines: those with a fixed limit in one queue a kind, in order, since whatever was touched
/// last is due last; those that a protocol sets in a hashed wheel. Touching an entry and finding the next
/// deadline cost the same whatever the number of entries; nothing ever goes over the whole table.
///
/// After every change to an entry the caller says [`settle`](Self::settle).
#[derive(Debug)]
pub struct Slots<E, S> {
    slots: S,
    lists: [List; number::LISTS],
    wheel: Wheel,
    /// Slots from here on were never used.
    unused: u32,
    len: u32,
    entries: PhantomData<E>,
}

/// Milliseconds by which a deadline may act late (rule 8).
const MOST_LATE_MS: u64 = 250;

impl<E: Occupant, S: Storage<E>> Slots<E, S> {
    /// An empty table.
    pub const fn new(slots: S) -> Self {
        Self {
            slots,
            lists: [List::EMPTY; number::LISTS],
            wheel: Wheel::new(),
            unused: 0,
            len: 0,
            entries: PhantomData,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an entry in and tells it its name.
    ///
    /// # Errors
    /// [`Full`] gives it back when there is no slot and the storage does not grow.
    pub fn insert(&mut self, mut entry: E) -> Result<Token, Full<E>> {
        let Some(index) = self.vacant() else { return Err(Full(entry)) };
        let Some(slot) = self.slots.slot_mut(index) else { return Err(Full(entry)) };
        let token = Token { index, generation: slot.generation };
        entry.named(token);
        slot.entry = Some(entry);
        self.len += 1;
        self.settle(token);
        Ok(token)
    }

    /// Takes an entry out. Its token finds nothing from now on.
    pub fn remove(&mut self, token: Token) -> Option<E> {
        self.get(token)?;
        for lane in [Lane::Life, Lane::Line, Lane::Wheel, Lane::Again] {
            self.unlist(lane, token.index);
        }
        let slot = self.slots.slot_mut(token.index)?;
        let entry = slot.entry.take();
        // A name is not used twice within four billion uses of a slot.
        slot.generation = slot.generation.wrapping_add(1);
        self.len -= 1;
        self.enlist(Lane::Life, number::FREE, token.index);
        entry
    }

    /// The entry of this name.
    #[inline]
    pub fn get(&self, token: Token) -> Option<&E> {
        let slot = self.slots.slot(token.index)?;
        if slot.generation == token.generation { slot.entry.as_ref() } else { None }
    }

    /// The entry of this name. After a change that could move a deadline comes [`settle`](Self::settle).
    #[inline]
    pub fn get_mut(&mut self, token: Token) -> Option<&mut E> {
        let slot = self.slots.slot_mut(token.index)?;
        if slot.generation == token.generation { slot.entry.as_mut() } else { None }
    }

    /// The entry of this name, and whether it is noted for [`next_again`](Self::next_again).
    #[inline]
    pub fn get_queued(&mut self, token: Token) -> Option<(&mut E, bool)> {
        let slot = self.slots.slot_mut(token.index)?;
        if slot.generation != token.generation {
            return None;
        }
        let queued = slot.links.list(Lane::Again) == number::AGAIN;
        slot.entry.as_mut().map(|entry| (entry, queued))
    }

    /// An entry that was not told of the shutdown yet.
    pub fn not_draining(&self) -> Option<Token> {
        self.token_at(self.list(number::ACTIVE).head).or_else(|| self.token_at(self.list(number::PARKED).head))
    }

    /// Any entry; for ending them all.
    pub fn any(&self) -> Option<Token> {
        let lists = [
            number::ACTIVE,
            number::PARKED,
            number::DRAIN_ACTIVE,
            number::DRAIN_MOVED,
            number::DRAIN_PARKED,
            number::LINGERING,
        ];
        lists.iter().find_map(|&list| self.token_at(self.list(list).head))
    }

    /// Whether there is a slot for one more entry; grows if that is needed and can be.
    pub fn has_room(&mut self) -> bool {
        !self.list(number::FREE).is_empty()
            || self.unused < self.slots.capacity()
            || (self.slots.grow() && self.unused < self.slots.capacity())
    }

    /// A slot that holds nothing: one that was used before, or the next new one.
    fn vacant(&mut self) -> Option<u32> {
        let free = self.list(number::FREE).head;
        if free != NONE {
            self.unlist(Lane::Life, free);
            return Some(free);
        }
        if !self.has_room() {
            return None;
        }
        let index = self.unused;
        self.unused += 1;
        Some(index)
    }

    fn token_at(&self, index: u32) -> Option<Token> {
        self.slots.slot(index).map(|slot| Token { index, generation: slot.generation })
    }

    #[inline]
    fn list(&self, number: u16) -> List {
        self.lists.get(number as usize).copied().unwrap_or(List::EMPTY)
    }

    #[inline]
    fn list_of(&self, lane: Lane, index: u32) -> u16 {
        self.slots.slot(index).map_or(0, |slot| slot.links.list(lane))
    }

    #[inline]
    fn enlist(&mut self, lane: Lane, list: u16, index: u32) {
        if list >= number::WHEEL {
            let bucket = (list - number::WHEEL) as usize;
            self.wheel.with(bucket, |bucket| bucket.push(&mut self.slots, lane, list, index));
        } else if list != 0
            && let Some(ends) = self.lists.get_mut(list as usize)
        {
            ends.push(&mut self.slots, lane, list, index);
        }
    }

    #[inline]
    fn unlist(&mut self, lane: Lane, index: u32) {
        let list = self.list_of(lane, index);
        if list >= number::WHEEL {
            let bucket = (list - number::WHEEL) as usize;
            self.wheel.with(bucket, |bucket| bucket.remove(&mut self.slots, lane, index));
        } else if list != 0
            && let Some(ends) = self.lists.get_mut(list as usize)
        {
            ends.remove(&mut self.slots, lane, index);
        }
    }
}

#[cfg(test)]
mod tests;
