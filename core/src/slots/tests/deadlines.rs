//! Who is due is named in time, whatever moved, began, ended or was set meanwhile.

use super::*;

#[test]
fn who_moved_is_due_behind_who_did_not() {
    let (mut table, [a, b, c, d]) = table();
    for (token, now) in [(b, 100), (a, 200), (b, 300), (d, 300), (a, 350), (d, 301), (b, 400)] {
        moved(&mut table, token, false, at(now));
    }
    assert_eq!(all_expire(&mut table), [c, d, a, b]);
}

#[test]
fn in_a_shutdown_too_who_moved_is_due_behind_who_did_not() {
    let (mut table, [a, b, c, d]) = table();
    for (token, now) in [(b, 100), (c, 200), (d, 300)] {
        moved(&mut table, token, false, at(now));
    }
    // They are told in this order; the one moves as it is told, the other one later, and two do not.
    moved(&mut table, a, true, at(500));
    change(&mut table, b, |entry| entry.draining = true);
    moved(&mut table, b, true, at(600));
    change(&mut table, c, |entry| entry.draining = true);
    change(&mut table, d, |entry| entry.draining = true);
    assert_eq!(all_expire(&mut table), [c, d, a, b]);
}

#[test]
fn a_line_that_began_is_due_until_it_ends() {
    let (mut table, [ends, stays, never, again]) = table();
    for (token, began) in [(ends, 10), (stays, 100), (again, 150)] {
        change(&mut table, token, |entry| entry.due.line = at(began).after(LINE_MS));
    }
    change(&mut table, ends, |entry| entry.due.line = Time::NEVER);
    change(&mut table, again, |entry| entry.due.line = at(500).after(LINE_MS));
    assert_eq!(table.expired(at(399)), None);
    assert_eq!(table.next_deadline().map(|due| (400..650).contains(&due.as_ms())), Some(true));
    assert_eq!(all_expire(&mut table), [stays, again, ends, never]);
}

#[test]
fn answers_and_timers_are_due_whenever_they_are_set_for() {
    let (mut table, tokens) = table::<8>();
    // In the same tick, a round of the wheel and several rounds later, and some on whom nothing waits.
    let due_ms = [40_000, 70, 16_450, 66, 5_000, 16_400, 300_000, 16_384];
    for (token, ms) in tokens.into_iter().zip(due_ms) {
        change(&mut table, token, |entry| {
            entry.due = match ms % 4 {
                0 => Deadlines { ticket: at(ms), ..Deadlines::NONE },
                _ => Deadlines { timer: at(ms), ticket: at(ms + 1), ..Deadlines::NONE },
            }
        });
    }
    let forgotten = tokens[4];
    change(&mut table, forgotten, |entry| entry.due = Deadlines::NONE);
    let mut named = all_expire(&mut table);
    // The order in a tick does not matter.
    named[..2].sort();
    named[2..5].sort();
    assert_eq!(named, [1, 3, 2, 5, 7, 0, 6].map(|index: usize| tokens[index]));
    assert_eq!(table.any(), Some(forgotten));
}

#[test]
fn a_timer_that_was_taken_back_wakes_nobody() {
    let (mut table, [one, other]) = table();
    for (token, ms) in [(one, 70), (other, 200)] {
        change(&mut table, token, |entry| entry.due = Deadlines { timer: at(ms), ..Deadlines::NONE });
    }
    change(&mut table, one, |entry| entry.due = Deadlines::NONE);
    assert!(table.next_deadline().is_some_and(|due| due >= at(200)));
    change(&mut table, other, |entry| entry.due = Deadlines::NONE);
    assert_eq!(table.next_deadline(), None);
}

#[test]
fn a_timer_in_the_past_is_due_at_once() {
    let (mut table, [late, other]) = table();
    assert_eq!(table.expired(at(900)), None);
    change(&mut table, late, |entry| entry.due.timer = at(10));
    assert!(table.next_deadline().is_some_and(|due| due < at(1_000)), "before the idle limit of the other one");
    assert_eq!(table.expired(at(960)), Some(late));
    change(&mut table, late, |entry| entry.due.timer = Time::NEVER);
    assert_eq!(all_expire(&mut table), [late, other]);
}

#[test]
fn who_lingers_is_due_by_that_alone() {
    let (mut table, [first, second, idles]) = table();
    for (token, until) in [(first, 700), (second, 2_000)] {
        change(&mut table, token, |entry| entry.due = Deadlines { linger: at(until), ..Deadlines::NONE });
    }
    assert_eq!(table.not_draining(), Some(idles), "who lingers need not be told of a shutdown");
    assert_eq!(all_expire(&mut table), [first, idles, second]);
}

#[test]
fn who_has_no_deadline_is_told_of_a_shutdown_and_found_at_its_end() {
    let (mut table, [parked]) = table();
    change(&mut table, parked, |entry| entry.due.idle = Time::NEVER);
    assert_eq!((table.next_deadline(), table.not_draining(), table.any()), (None, Some(parked), Some(parked)));
    change(&mut table, parked, |entry| entry.draining = true);
    assert_eq!((table.not_draining(), table.any()), (None, Some(parked)));
    moved(&mut table, parked, true, at(500));
    assert_eq!(table.any(), Some(parked));
    assert_eq!(all_expire(&mut table), [parked]);
}
