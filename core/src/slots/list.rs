//! Lists that run through the slots, so that they need no memory of their own.

use super::storage::Storage;

/// No slot: the end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// A slot is in at most one list of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// By how its connection lives, in order of its idle or linger deadline; free slots too.
    Life = 0,
    /// By the limit of its unfinished line.
    Line = 1,
    /// By the timer or ticket of its protocol.
    Wheel = 2,
    /// Connections that have work without a new event.
    Again = 3,
}

const LANES: usize = 4;

/// Where a slot is in the list of each lane.
#[derive(Debug)]
pub(super) struct Links {
    previous: [u32; LANES],
    next: [u32; LANES],
    /// 0: in none; else the number of the list.
    list: [u16; LANES],
    /// The deadline by which it was put where it is in the list of the first lane, in grains. Only compared for
    /// equality, so that the low bits will do.
    grain: u32,
}

impl Links {
    pub const fn new() -> Self {
        Self { previous: [NONE; LANES], next: [NONE; LANES], list: [0; LANES], grain: 0 }
    }

    /// Whether it is in this list of the first lane by this deadline, and in none of the others.
    #[inline]
    pub fn is_settled(&self, list: u16, grain: u32) -> bool {
        let [life, line, wheel, _] = self.list;
        life == list && self.grain == grain && line | wheel == 0
    }

    /// Whether it is where an idle deadline of this grain put it before the shutdown, or as it was told of that.
    pub fn was_active(&self, grain: u32) -> bool {
        let [life, ..] = self.list;
        self.grain == grain && matches!(life, super::number::ACTIVE | super::number::DRAIN_ACTIVE)
    }

    /// It was put where it belongs by this deadline.
    #[inline]
    pub fn settle(&mut self, grain: u32) {
        self.grain = grain;
    }

    /// The number of the list of this lane; 0 is none.
    #[inline]
    pub fn list(&self, lane: Lane) -> u16 {
        self.list[lane as usize]
    }

    #[inline]
    pub fn next(&self, lane: Lane) -> u32 {
        self.next[lane as usize]
    }

    #[inline]
    pub fn previous(&self, lane: Lane) -> u32 {
        self.previous[lane as usize]
    }
}

/// The two ends of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub head: u32,
    pub tail: u32,
}

impl List {
    pub const EMPTY: Self = Self { head: NONE, tail: NONE };

    pub const fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Appends a slot that is in no list of this lane; `number` is what the slot calls this list.
    #[inline]
    pub fn push<E>(&mut self, slots: &mut impl Storage<E>, lane: Lane, number: u16, index: u32) {
        let at = lane as usize;
        let Some(slot) = slots.slot_mut(index) else { return };
        slot.links.list[at] = number;
        slot.links.previous[at] = self.tail;
        slot.links.next[at] = NONE;
        match slots.slot_mut(self.tail) {
            Some(before) => before.links.next[at] = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    /// Takes out a slot that is in this list.
    #[inline]
    pub fn remove<E>(&mut self, slots: &mut impl Storage<E>, lane: Lane, index: u32) {
        let at = lane as usize;
        let Some(slot) = slots.slot_mut(index) else { return };
        slot.links.list[at] = 0;
        let (previous, next) = (slot.links.previous[at], slot.links.next[at]);
        match slots.slot_mut(previous) {
            Some(before) => before.links.next[at] = next,
            None => self.head = next,
        }
        match slots.slot_mut(next) {
            Some(behind) => behind.links.previous[at] = previous,
            None => self.tail = previous,
        }
    }
}
