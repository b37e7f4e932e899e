//! The table of connections: names, deadlines and the queue of those with work.

mod list;
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
    lists: [List; LISTS],
    wheel: Wheel,
    /// Slots from here on were never used.
    unused: u32,
    len: u32,
    entries: PhantomData<E>,
}

/// The lists, by the number that a slot knows them by. 0 is none.
mod number {
    pub const FREE: u16 = 1;
    /// In order of the idle deadline.
    pub const ACTIVE: u16 = 2;
    /// Without an idle deadline.
    pub const PARKED: u16 = 3;
    /// As `ACTIVE`, told of the shutdown and not moved since: told in the order of `ACTIVE`, so in order here too.
    pub const DRAIN_ACTIVE: u16 = 4;
    /// As `PARKED`, told of the shutdown.
    pub const DRAIN_PARKED: u16 = 5;
    /// In order of the linger deadline.
    pub const LINGERING: u16 = 6;
    /// In order of the line deadline.
    pub const LINE: u16 = 7;
    pub const AGAIN: u16 = 8;
    pub const STARVED: u16 = 9;
    /// As `ACTIVE`, told of the shutdown and moved since.
    pub const DRAIN_MOVED: u16 = 10;
    /// The first bucket of the wheel.
    pub const WHEEL: u16 = 16;
}

const LISTS: usize = 11;

/// The lists that are in order of a deadline. What `end_turn` moves goes to one that it has visited.
const IN_ORDER: [u16; 5] =
    [number::ACTIVE, number::DRAIN_MOVED, number::DRAIN_ACTIVE, number::LINGERING, number::LINE];

/// Deadlines in a list are rounded up to whole grains, so that a busy connection moves in its list once a grain and
/// not at each byte, and deadlines that are close together are one wake-up.
const GRAIN_MS: u64 = 32;

/// A turn's clock is read at its beginning and bytes move until its end. So every deadline is put off by this, and
/// only a turn that took longer has its moments corrected.
const LONG_TURN_MS: u64 = 32;

// Rule 8: at most 250 ms late.
const _: () = assert!(LONG_TURN_MS + GRAIN_MS < 250);

/// The deadline that a list of `IN_ORDER` is in order of, in grains.
#[inline]
fn grain_in(list: u16, due: &Deadlines) -> u64 {
    let deadline = match list {
        number::LINGERING => due.linger,
        number::LINE => due.line,
        _ => due.idle,
    };
    deadline.as_ms().saturating_add(LONG_TURN_MS).div_ceil(GRAIN_MS)
}

impl<E: Occupant, S: Storage<E>> Slots<E, S> {
    /// An empty table.
    pub const fn new(slots: S) -> Self {
        Self { slots, lists: [List::EMPTY; LISTS], wheel: Wheel::new(), unused: 0, len: 0, entries: PhantomData }
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

    /// Puts an entry where its deadlines belong.
    #[inline]
    pub fn settle(&mut self, token: Token) {
        let Some(slot) = self.slots.slot(token.index) else { return };
        let (Some(entry), true) = (&slot.entry, slot.generation == token.generation) else { return };
        let due = entry.deadlines();
        let links = &slot.links;
        let grain =
            grain_in(if due.linger == Time::NEVER { number::ACTIVE } else { number::LINGERING }, &due) as u32;
        let list = match (due.linger == Time::NEVER, due.idle == Time::NEVER, entry.is_draining()) {
            (false, ..) => number::LINGERING,
            (true, false, false) => number::ACTIVE,
            (true, false, true) if links.was_active(grain) => number::DRAIN_ACTIVE,
            (true, false, true) => number::DRAIN_MOVED,
            (true, true, false) => number::PARKED,
            (true, true, true) => number::DRAIN_PARKED,
        };
        if links.is_settled(list, grain) && due.line.min(due.ticket).min(due.timer) == Time::NEVER {
            // The common case: moved again within the grain, or not at all.
            return;
        }
        self.place(Lane::Life, list, token.index, &due);
        self.place(Lane::Line, if due.line == Time::NEVER { 0 } else { number::LINE }, token.index, &due);
        let set = due.ticket.min(due.timer);
        let bucket = if set == Time::NEVER { 0 } else { number::WHEEL + self.wheel.bucket_of(set) as u16 };
        if self.list_of(Lane::Wheel, token.index) != bucket {
            self.unlist(Lane::Wheel, token.index);
            self.enlist(Lane::Wheel, bucket, token.index);
        }
        if let Some(slot) = self.slots.slot_mut(token.index) {
            slot.links.settle(grain);
        }
    }

    /// The earliest moment at which [`expired`](Self::expired) could name an entry.
    pub fn next_deadline(&self) -> Option<Time> {
        let heads = IN_ORDER.iter().filter_map(|&list| self.head_deadline(list));
        heads.chain(self.wheel.next()).min()
    }

    /// An entry with a deadline at or before `now`. The caller acts on it and settles it.
    pub fn expired(&mut self, now: Time) -> Option<Token> {
        for list in IN_ORDER {
            if self.head_deadline(list).is_some_and(|deadline| deadline <= now) {
                return self.token_at(self.list(list).head);
            }
        }
        while let Some(bucket) = self.wheel.turn(now) {
            let mut index = self.wheel.head(bucket).unwrap_or(NONE);
            while let Some(slot) = self.slots.slot(index) {
                if slot.entry.as_ref().is_some_and(|entry| is_set_for(entry, now)) {
                    return self.token_at(index);
                }
                index = slot.links.next(Lane::Wheel);
            }
            self.wheel.advance();
        }
        None
    }

    /// Says that what was told to have happened in a turn that began at `began` happened by `ended`, so that no
    /// limit fires early. Costs nothing unless the turn was long.
    ///
    /// What was touched in the turn has the last deadline of its list, so nothing else is visited.
    pub fn end_turn(&mut self, began: Time, ended: Time) {
        if ended.since_ms(began) < LONG_TURN_MS {
            return;
        }
        for list in IN_ORDER {
            let lane = if list == number::LINE { Lane::Line } else { Lane::Life };
            let mut index = self.list(list).tail;
            let mut last = None;
            while let Some(slot) = self.slots.slot_mut(index) {
                let Some(entry) = &mut slot.entry else { break };
                let grain = grain_in(list, &entry.deadlines());
                if *last.get_or_insert(grain) != grain {
                    break;
                }
                entry.restamp(began, ended);
                let token = Token { index, generation: slot.generation };
                index = slot.links.previous(lane);
                self.settle(token);
            }
        }
    }

    /// Notes that an entry has work without a new event.
    pub fn run_again(&mut self, token: Token) {
        self.queue(number::AGAIN, token);
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

    /// Puts a slot into the list (0: none) where its deadline belongs: stays if it is in order, else goes last.
    #[inline]
    fn place(&mut self, lane: Lane, list: u16, index: u32, due: &Deadlines) {
        let now_in = self.list_of(lane, index);
        if now_in == list {
            if list == 0 || self.list(list).tail == index {
                return;
            }
            let next = self.slots.slot(index).map_or(NONE, |slot| slot.links.next(lane));
            let behind = self.slots.slot(next).and_then(|slot| slot.entry.as_ref());
            if behind.is_some_and(|behind| grain_in(list, due) <= grain_in(list, &behind.deadlines())) {
                return;
            }
        }
        self.unlist(lane, index);
        self.enlist(lane, list, index);
    }

    fn head_deadline(&self, list: u16) -> Option<Time> {
        let due = self.slots.slot(self.list(list).head)?.entry.as_ref()?.deadlines();
        Some(Time::from_ms(grain_in(list, &due).saturating_mul(GRAIN_MS)))
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

/// Whether a deadline that its protocol set is due.
fn is_set_for<E: Occupant>(entry: &E, now: Time) -> bool {
    let due = entry.deadlines();
    due.ticket.min(due.timer) <= now
}

#[cfg(test)]
mod tests;
