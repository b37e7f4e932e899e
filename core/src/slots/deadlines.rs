//! Where the deadlines of the entries are kept, found and corrected.

use super::list::{Lane, NONE};
use super::{MOST_LATE_MS, Occupant, Slots, Storage, number};
use crate::connection::Deadlines;
use crate::time::Time;
use crate::token::Token;

/// The lists that are in order of a deadline. What `end_turn` moves goes to one that it has visited.
const IN_ORDER: [u16; 5] =
    [number::ACTIVE, number::DRAIN_MOVED, number::DRAIN_ACTIVE, number::LINGERING, number::LINE];

/// Deadlines in a list are rounded up to whole grains, so that a busy connection moves in its list once a grain and
/// not at each byte, and deadlines that are close together are one wake-up.
const GRAIN_MS: u64 = 32;

/// A turn's clock is read at its beginning and bytes move until its end. So every deadline is put off by this, and
/// only a turn that took longer has its moments corrected.
const LONG_TURN_MS: u64 = 32;

const _: () = assert!(LONG_TURN_MS + GRAIN_MS < MOST_LATE_MS);

/// The deadline that a list of `IN_ORDER` is in order of, in grains.
#[inline]
fn grain_in(list: u16, due: &Deadlines) -> u64 {
    let deadline = match list {
        number::LINGERING => due.linger,
        number::LINE => due.line,
        // ACTIVE and its likes of a shutdown.
        _ => due.idle,
    };
    deadline.as_ms().saturating_add(LONG_TURN_MS).div_ceil(GRAIN_MS)
}

impl<E: Occupant, S: Storage<E>> Slots<E, S> {
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
}

/// Whether a deadline that its protocol set is due.
fn is_set_for<E: Occupant>(entry: &E, now: Time) -> bool {
    let due = entry.deadlines();
    due.ticket.min(due.timer) <= now
}
