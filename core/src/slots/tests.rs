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
