//! What the table does at the end of a long turn.

use super::*;

const IDLE_MS: u32 = 1_000;

/// An entry that idles.
struct Idler {
    moved: Time,
    draining: bool,
}

impl Occupant for Idler {
    fn named(&mut self, _token: Token) {}

    fn deadlines(&self) -> Deadlines {
        Deadlines { idle: self.moved.after(IDLE_MS), ..Deadlines::NONE }
    }

    fn is_draining(&self) -> bool {
        self.draining
    }

    fn restamp(&mut self, began: Time, ended: Time) {
        if self.moved == began {
            self.moved = ended;
        }
    }
}

fn at(ms: u64) -> Time {
    Time::from_ms(ms)
}

/// A byte moved, after the entry was told of a shutdown or not.
fn moved<const K: usize>(table: &mut Slots<Idler, [Slot<Idler>; K]>, token: Token, draining: bool, now: Time) {
    let idler = table.get_mut(token).unwrap();
    idler.draining = draining;
    idler.moved = now;
    table.settle(token);
}

fn table<const K: usize>() -> (Slots<Idler, [Slot<Idler>; K]>, [Token; K]) {
    let mut table = Slots::new([const { Slot::new() }; K]);
    let tokens = core::array::from_fn(|_| {
        let idler = Idler { moved: at(0), draining: false };
        table.insert(idler).unwrap_or_else(|_| panic!("room"))
    });
    (table, tokens)
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
    let (mut table, [early, late, later]) = table();
    moved(&mut table, early, false, at(100));
    moved(&mut table, late, false, at(500));
    moved(&mut table, later, false, at(500));
    table.end_turn(at(500), at(2_000));
    assert_eq!(table.expired(at(1_200)), Some(early));
    table.remove(early);
    assert_eq!(table.expired(at(2_999)), None);
    assert!(table.expired(at(3_100)).is_some_and(|token| token == late || token == later));
}

#[test]
fn a_full_table_gives_the_entry_back_and_takes_another_when_one_left() {
    let mut memory = [const { Slot::new() }; 2];
    // Over memory that is lent, without a length that the compiler knows.
    let mut table = Slots::new(&mut memory[..]);
    let idler = |ms| Idler { moved: at(ms), draining: false };
    let insert =
        |table: &mut Slots<_, _>, ms| table.insert(idler(ms)).map_err(|Full(back): Full<Idler>| back.moved);
    let (one, two) = (insert(&mut table, 1).unwrap(), insert(&mut table, 2).unwrap());
    assert_eq!(insert(&mut table, 3), Err(at(3)));
    assert_eq!((table.len(), table.get(two).map(|it| it.moved)), (2, Some(at(2))));
    assert!(table.remove(one).is_some_and(|it| it.moved == at(1)));
    let four = insert(&mut table, 4).unwrap();
    assert!(four.index == one.index && four != one && table.get(one).is_none());
}

#[test]
fn who_left_has_no_work() {
    let (mut table, [stays, leaves]) = table();
    table.remove(leaves);
    table.run_again(leaves);
    table.starve(leaves);
    assert!(!table.has_again() && !table.has_starved());
    table.run_again(stays);
    assert_eq!((table.next_again(), table.next_again()), (Some(stays), None));
}
