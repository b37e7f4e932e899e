//! `EVFILT_USER`.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use crate::tools::*;

fn add(flags: u16) -> kevent {
    change(1, EVFILT_USER, EV_ADD | flags)
}

fn touch(fflags: u32) -> kevent {
    kevent { fflags, ..change(1, EVFILT_USER, 0) }
}

/// "triggered by user level code"; NOTE_TRIGGER: "Cause the event to be
/// triggered."
#[test]
fn a_trigger_returns_the_event() {
    let queue = queue(&[add(0)]);
    assert!(poll(&queue).is_empty());
    apply(&queue, &[touch(NOTE_TRIGGER)]);
    assert_eq!(wait_one(&queue).ident, 1);
    // Without EV_CLEAR it stays triggered.
    assert_eq!(wait_one(&queue).ident, 1);
}

/// A change without NOTE_TRIGGER triggers nothing.
#[test]
fn other_changes_do_not_trigger() {
    let queue = queue(&[add(0), touch(0), touch(NOTE_FFCOPY | 1)]);
    apply(&queue, &[change(1, EVFILT_USER, EV_DISABLE), change(1, EVFILT_USER, EV_ENABLE)]);
    assert!(poll(&queue).is_empty());
}

/// An event with EV_CLEAR goes to one of the threads that wait, not to each.
#[test]
fn a_cleared_event_goes_to_one_thread() {
    const ROUNDS: usize = 500;
    let queue = &queue(&[add(EV_CLEAR), change(2, EVFILT_USER, EV_ADD)]);
    let seen = &AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                // The other event stays, and so ends the loop of each thread.
                while wait(queue).iter().all(|event| event.ident == 1) {
                    seen.fetch_add(1, SeqCst);
                }
            });
        }
        for round in 0..ROUNDS {
            while seen.load(SeqCst) < round {
                thread::yield_now();
            }
            apply(queue, &[touch(NOTE_TRIGGER)]);
        }
        while seen.load(SeqCst) < ROUNDS {
            thread::yield_now();
        }
        apply(queue, &[kevent { fflags: NOTE_TRIGGER, ..change(2, EVFILT_USER, 0) }]);
    });
    assert_eq!(seen.load(SeqCst), ROUNDS);
}

/// With EV_CLEAR it comes once a trigger, and several triggers are one event.
#[test]
fn a_cleared_event_comes_once_a_trigger() {
    let queue = queue(&[add(EV_CLEAR)]);
    for _ in 0..3 {
        apply(&queue, &[touch(NOTE_TRIGGER), touch(NOTE_TRIGGER)]);
        assert_eq!(wait_one(&queue).flags, EV_CLEAR);
        assert!(poll(&queue).is_empty());
    }
}

/// A trigger from another thread wakes the one that waits, each time.
#[test]
fn a_trigger_from_another_thread_wakes_the_wait() {
    const ROUNDS: usize = 1000;
    let queue = queue(&[add(EV_CLEAR)]);
    let turn = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                turn.wait();
                apply(&queue, &[marked(touch(NOTE_TRIGGER), round)]);
            }
        });
        for round in 0..ROUNDS {
            turn.wait();
            assert_eq!(mark(&wait_one(&queue)), round);
        }
    });
}

/// Triggers of many threads at once are not lost and not doubled beyond their
/// number.
#[test]
fn triggers_of_many_threads_are_all_seen() {
    const THREADS: usize = 4;
    const EACH: usize = 250;
    let changes: Vec<_> = (0..THREADS).map(|ident| change(ident, EVFILT_USER, EV_ADD | EV_CLEAR)).collect();
    let queue = &queue(&changes);
    let mut counts = [0; THREADS];
    thread::scope(|scope| {
        for ident in 0..THREADS {
            scope.spawn(move || {
                for number in 1..=EACH {
                    let mut trigger = change(ident, EVFILT_USER, 0);
                    trigger.fflags = NOTE_TRIGGER;
                    apply(queue, &[marked(trigger, number)]);
                }
            });
        }
        // The last trigger of each thread is seen at the latest after it.
        let mut done = 0;
        while done < THREADS {
            for event in wait(queue) {
                counts[event.ident] += 1;
                done += usize::from(mark(&event) == EACH);
            }
        }
    });
    assert!(counts.iter().all(|count| (1..=EACH).contains(count)));
}

/// "The lower 24 bits of the fflags may be used for user defined flags and
/// manipulated using the following".
#[test]
fn the_users_flags_follow_the_control_bits() {
    let queue = queue(&[kevent { fflags: 0b0101, ..add(0) }]);
    for (control, flags, result) in [
        (NOTE_FFNOP, 0b1111, 0b0101),
        (NOTE_FFOR, 0b0010, 0b0111),
        (NOTE_FFAND, 0b0110, 0b0110),
        (NOTE_FFCOPY, 0b1001, 0b1001),
        (NOTE_FFCOPY, NOTE_FFLAGSMASK, NOTE_FFLAGSMASK),
    ] {
        apply(&queue, &[touch(NOTE_TRIGGER | control | flags)]);
        assert_eq!(wait_one(&queue).fflags, result);
    }
    let masks = NOTE_FFCTRLMASK & (NOTE_FFLAGSMASK | NOTE_TRIGGER);
    assert_eq!(masks, 0);
}

/// The data of the last change comes with the event.
#[test]
fn the_data_of_the_trigger_is_returned() {
    let queue = queue(&[add(EV_CLEAR)]);
    for data in [i64::MIN, 0, i64::MAX] {
        apply(&queue, &[kevent { data, ..touch(NOTE_TRIGGER) }]);
        assert_eq!(wait_one(&queue).data, data);
    }
}

/// What FreeBSD's kernel does with a trigger in the change that adds: nothing.
#[test]
fn a_trigger_in_the_adding_change_does_nothing() {
    let queue = queue(&[kevent { fflags: NOTE_TRIGGER, ..add(0) }]);
    assert!(poll(&queue).is_empty());
}

/// And with EV_CLEAR in a later change: it takes the trigger back, its own too.
#[test]
fn a_clear_in_a_change_takes_the_trigger_back() {
    let queue = queue(&[add(0), touch(NOTE_TRIGGER)]);
    apply(&queue, &[change(1, EVFILT_USER, EV_CLEAR)]);
    assert!(poll(&queue).is_empty());
    apply(&queue, &[kevent { flags: EV_CLEAR, ..touch(NOTE_TRIGGER) }]);
    assert!(poll(&queue).is_empty());
    apply(&queue, &[touch(NOTE_TRIGGER)]);
    assert_eq!(wait_one(&queue).ident, 1);
}
