//! What the table does with its entries, their deadlines and the ends of long turns.

mod deadlines;

use std::vec::Vec;

use super::*;

const IDLE_MS: u32 = 1_000;
const LINE_MS: u32 = 300;

/// An entry that idles, and may have more deadlines.
#[derive(Debug)]
struct Entry {
    due: Deadlines,
    draining: bool,
}

impl Entry {
    fn idle_until(due: Time) -> Self {
        Self { due: Deadlines { idle: due, ..Deadlines::NONE }, draining: false }
    }
}

impl Occupant for Entry {
    fn named(&mut self, _token: Token) {}

    fn deadlines(&self) -> Deadlines {
        self.due
    }

    fn is_draining(&self) -> bool {
        self.draining
    }

    fn restamp(&mut self, began: Time, ended: Time) {
        for (due, limit_ms) in [(&mut self.due.idle, IDLE_MS), (&mut self.due.line, LINE_MS)] {
            if *due == began.after(limit_ms) {
                *due = ended.after(limit_ms);
            }
        }
    }
}

fn at(ms: u64) -> Time {
    Time::from_ms(ms)
}

/// Changes an entry.
fn change<S: Storage<Entry>>(table: &mut Slots<Entry, S>, token: Token, change: impl FnOnce(&mut Entry)) {
    change(table.get_mut(token).unwrap());
    table.settle(token);
}

/// A byte moved, after the entry was told of a shutdown or not.
fn moved<S: Storage<Entry>>(table: &mut Slots<Entry, S>, token: Token, draining: bool, now: Time) {
    change(table, token, |entry| {
        entry.draining = draining;
        entry.due.idle = now.after(IDLE_MS);
    });
}

/// A table of entries that moved at 0.
fn table<const K: usize>() -> (Slots<Entry, [Slot<Entry>; K]>, [Token; K]) {
    let mut table = Slots::new([const { Slot::new() }; K]);
    let tokens = core::array::from_fn(|_| table.insert(Entry::idle_until(at(0).after(IDLE_MS))).unwrap());
    (table, tokens)
}

/// Takes out whoever is due, until nobody is: who it was, in this order. Nobody is named early, or later than rule 8 says.
fn all_expire<S: Storage<Entry>>(table: &mut Slots<Entry, S>) -> Vec<Token> {
    let mut named = Vec::new();
    let mut wake_ups = 0;
    while let Some(now) = table.next_deadline() {
        while let Some(token) = table.expired(now) {
            let due = table.remove(token).unwrap().due.earliest();
            assert!(due <= now, "due at {due:?} and named at {now:?}");
            assert!(now.since_ms(due) < MOST_LATE_MS, "due at {due:?} and named at {now:?}");
            named.push(token);
        }
        wake_ups += 1;
        assert!(wake_ups < 1_000, "wake-ups without end at {now:?}");
    }
    named
}

#[test]
fn a_long_turn_in_a_shutdown_corrects_those_that_moved_before_and_after_they_were_told() {
    let (mut table, [moves_far, moves_little]) = table();
    // The one moves into another grain than it was in, the other one stays in its own.
    moved(&mut table, moves_little, false, at(500));
    moved(&mut table, moves_far, true, at(501));
    moved(&mut table, moves_little, true, at(501));
    table.end_turn(at(501), at(2_000));
    assert!(table.expired(at(2_999)).is_none(), "a limit acted early");
    assert!(table.next_deadline().is_some_and(|due| due >= at(3_000)));
    assert!(table.expired(at(3_100)).is_some());
}

#[test]
fn a_long_turn_corrects_all_that_moved_in_it_and_no_other() {
    let (mut table, [a, early, c, d, e]) = table();
    moved(&mut table, early, false, at(100));
    for token in [c, a, e, d] {
        moved(&mut table, token, false, at(500));
    }
    table.end_turn(at(500), at(2_000));
    assert_eq!(table.expired(at(1_200)), Some(early));
    table.remove(early);
    assert_eq!(table.expired(at(2_999)), None);
    assert!([a, c, d, e].iter().all(|&token| table.get(token).unwrap().due.idle == at(3_000)));
    assert_eq!(all_expire(&mut table).len(), 4);
}

#[test]
fn a_short_turn_corrects_nothing() {
    let (mut table, [entry]) = table();
    moved(&mut table, entry, false, at(500));
    table.end_turn(at(500), at(531));
    assert_eq!(table.get(entry).unwrap().due.idle, at(1_500), "it costs nothing");
    table.end_turn(at(500), at(532));
    assert_eq!(table.get(entry).unwrap().due.idle, at(1_532));
}

#[test]
fn a_long_turn_corrects_the_lines_that_began_in_it() {
    let (mut table, [early, late]) = table();
    for (token, began) in [(early, 100), (late, 500)] {
        change(&mut table, token, |entry| entry.due.line = at(began).after(LINE_MS));
    }
    table.end_turn(at(500), at(2_000));
    let line = |token| table.get(token).unwrap().due.line;
    assert_eq!((line(early), line(late)), (at(100).after(LINE_MS), at(2_000).after(LINE_MS)));
}

/// Grows by a slot at a time, and claims to when it does not any more.
struct Growing(Vec<Slot<Entry>>);

impl Storage<Entry> for Growing {
    fn capacity(&self) -> u32 {
        self.0.as_slice().capacity()
    }

    fn slot(&self, index: u32) -> Option<&Slot<Entry>> {
        self.0.as_slice().slot(index)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<Entry>> {
        self.0.as_mut_slice().slot_mut(index)
    }

    fn grow(&mut self) -> bool {
        if self.0.len() < 3 {
            self.0.push(Slot::new());
        }
        true
    }
}

#[test]
fn a_table_grows_only_when_it_is_full() {
    let mut memory = Growing(Vec::new());
    let mut table = Slots::new(&mut memory);
    let insert = |table: &mut Slots<_, _>| table.insert(Entry::idle_until(at(9))).ok();
    let tokens = [1, 2, 3].map(|len| {
        assert!(table.has_room());
        let token = insert(&mut table).unwrap();
        assert_eq!((table.len(), table.slots.capacity()), (len, len));
        token
    });
    assert!(!table.has_room() && insert(&mut table).is_none(), "it grew by nothing");
    table.remove(tokens[1]);
    assert!(table.has_room() && insert(&mut table).is_some(), "where one left");
    assert!(!table.has_room());
}

#[test]
fn a_full_table_gives_the_entry_back_and_takes_another_when_one_left() {
    let mut memory = [const { Slot::new() }; 2];
    // Over memory that is lent, without a length that the compiler knows.
    let mut table = Slots::new(&mut memory[..]);
    let insert = |table: &mut Slots<_, _>, ms| {
        table.insert(Entry::idle_until(at(ms))).map_err(|Full(back): Full<Entry>| back.due.idle)
    };
    let (one, two) = (insert(&mut table, 1).unwrap(), insert(&mut table, 2).unwrap());
    assert!(!table.slots.grow(), "it claims no more than it has");
    assert_eq!(insert(&mut table, 3), Err(at(3)));
    assert_eq!((table.len(), table.get(two).map(|it| it.due.idle)), (2, Some(at(2))));
    assert!(table.remove(one).is_some_and(|it| it.due.idle == at(1)));
    let four = insert(&mut table, 4).unwrap();
    assert!(four.index == one.index && four != one && table.get(one).is_none());
}

#[test]
fn a_table_has_little_memory_of_its_own() {
    let lists_and_clock = 16 * size_of::<List>() + size_of::<u64>();
    assert!(
        size_of::<Slots<Entry, ()>>() <= wheel::BUCKETS * size_of::<List>() + wheel::BUCKETS / 8 + lists_and_clock
    );
}

#[test]
fn who_left_has_no_work() {
    let (mut table, [stays, leaves]) = table();
    table.remove(leaves);
    table.run_again(leaves);
    table.starve(leaves);
    assert!(!table.has_again() && !table.has_starved());
    assert_eq!(table.last_again(), None);
    table.run_again(stays);
    assert_eq!(table.last_again(), Some(stays));
    assert_eq!((table.next_again(), table.next_again()), (Some(stays), None));
}
