//! `EVFILT_TIMER`.

use std::time::{Duration, Instant};

use crate::tools::*;

/// A timer with an amount in the unit of a note (0: the default).
fn timer(flags: u16, unit: u32, amount: i64) -> kevent {
    kevent { fflags: unit, data: amount, ..change(1, EVFILT_TIMER, EV_ADD | flags) }
}

/// How long a oneshot timer takes to fire, from before it is added.
fn time_of(unit: u32, amount: i64) -> Duration {
    let start = Instant::now();
    let queue = queue(&[timer(EV_ONESHOT, unit, amount)]);
    let event = wait_one(&queue);
    assert_eq!((event.ident, event.data), (1, 1));
    start.elapsed()
}

/// "data specifies [...] the timeout period"; "If fflags is not set, the default
/// is milliseconds"; and the four units.
#[test]
fn the_period_is_in_the_unit_given() {
    for (unit, amount, period) in [
        (0, 30, Duration::from_millis(30)),
        (NOTE_MSECONDS, 30, Duration::from_millis(30)),
        (NOTE_SECONDS, 1, Duration::from_secs(1)),
        (NOTE_USECONDS, 2_500, Duration::from_micros(2_500)),
        (NOTE_NSECONDS, 1_500_000, Duration::from_nanos(1_500_000)),
    ] {
        let time = time_of(unit, amount);
        assert!(time >= period && time < LIMIT, "{unit} {amount}: {time:?}");
    }
}

/// A timer that is over before it began fires at once.
#[test]
fn no_time_at_all_fires_at_once() {
    for unit in [0, NOTE_SECONDS, NOTE_NSECONDS] {
        // Far less than a second, which one unit would be.
        assert!(time_of(unit, 0) < Duration::from_millis(900));
    }
}

/// "The timer will be periodic unless EV_ONESHOT [...] is specified"; "data
/// contains the number of times the timeout has expired since the last call".
#[test]
fn a_periodic_timer_counts_what_was_missed() {
    let start = Instant::now();
    let queue = queue(&[timer(0, 0, 5)]);
    wait_one(&queue_of(40));
    let mut count = wait_one(&queue).data;
    assert!(count >= 8, "{count}");
    for _ in 0..3 {
        count += wait_one(&queue).data;
    }
    // The clock may have gone on since, but never less.
    let most = i64::try_from(start.elapsed().as_millis()).unwrap() / 5;
    assert!(count <= most, "{count} of at most {most}");
}

/// A queue whose only event comes after some milliseconds.
fn queue_of(milliseconds: i64) -> Kqueue {
    queue(&[timer(EV_ONESHOT, 0, milliseconds)])
}

/// The filter sets EV_CLEAR by itself: an expiry is returned once.
#[test]
fn an_expiry_is_returned_once() {
    let long = 60_000;
    let queue = queue(&[timer(0, 0, 1)]);
    assert_eq!(wait_one(&queue).flags, EV_CLEAR);
    apply(&queue, &[timer(0, 0, long)]);
    assert!(poll(&queue).is_empty());
}

/// "Periodic timers with a specified timeout of 0 will be silently adjusted to
/// timeout after 1 of the time units".
#[test]
fn a_period_of_nothing_is_one_unit() {
    let start = Instant::now();
    let queue = queue(&[timer(0, 0, 0)]);
    let count = wait_one(&queue).data + wait_one(&queue).data;
    assert!(start.elapsed() >= Duration::from_millis(2));
    assert!(i128::from(count) <= start.elapsed().as_millis().cast_signed());
}

/// "If an existing timer is re-added, the existing timer will be effectively
/// canceled (throwing away any undelivered record of previous timer expiration)
/// and re-started using the new parameters".
#[test]
fn adding_again_starts_anew() {
    let queue = queue(&[timer(0, 0, 1)]);
    wait_one(&queue_of(10));
    let start = Instant::now();
    apply(&queue, &[timer(EV_ONESHOT, 0, 30)]);
    assert_eq!(wait_one(&queue).data, 1);
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert!(poll(&queue).is_empty());
    let gone = change(1, EVFILT_TIMER, EV_DELETE);
    assert_eq!(refused(&queue, gone), libc::ENOENT);
}

/// Only adding starts it anew: enabling leaves it running.
#[test]
fn enabling_does_not_start_anew() {
    let queue = queue(&[timer(EV_ONESHOT | EV_DISABLE, 0, 1)]);
    wait_one(&queue_of(10));
    assert!(poll(&queue).is_empty());
    // The data of a change that does not add is nothing to a timer.
    let enable = kevent { data: 60_000, ..change(1, EVFILT_TIMER, EV_ENABLE) };
    apply(&queue, &[enable]);
    assert_eq!(poll(&queue).len(), 1);
}

/// Timers are told apart by ident, and any number will do.
#[test]
fn the_ident_is_any_number() {
    let queue = queue(&[]);
    for ident in [0, 1, usize::MAX] {
        apply(&queue, &[change(ident, EVFILT_TIMER, EV_ADD | EV_ONESHOT)]);
        assert_eq!(wait_one(&queue).ident, ident);
    }
}

/// A time before now, or a unit that is none, is refused.
#[test]
fn wrong_periods_are_refused() {
    let queue = queue(&[]);
    for wrong in [timer(0, 0, -1), timer(EV_ONESHOT, 0, i64::MIN), timer(0, NOTE_SECONDS | NOTE_USECONDS, 1)] {
        assert_eq!(refused(&queue, wrong), libc::EINVAL);
    }
    // The longest there is does not overflow into a short one.
    for unit in [NOTE_SECONDS, NOTE_MSECONDS, NOTE_NSECONDS] {
        apply(&queue, &[timer(0, unit, i64::MAX)]);
        assert!(poll(&queue).is_empty());
    }
}

/// "[ENOMEM] [...] in the special case of a timer, the maximum number of timers
/// has been exceeded."
#[test]
fn timers_are_limited_by_descriptors() {
    let name = "timers::timers_are_limited_by_descriptors";
    alone(name, r#"ulimit -n 32 && exec "$@""#, || {
        let queue = queue(&[]);
        let refusal = (0..32)
            .map(|ident| change(ident, EVFILT_TIMER, EV_ADD))
            .find_map(|add| queue.kevent(&[add], &mut [], None).err());
        assert_eq!(refusal.unwrap().raw_os_error(), Some(libc::ENOMEM));
    });
}
