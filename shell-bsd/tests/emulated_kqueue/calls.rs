//! `kqueue` and `kevent` themselves: lists, lengths, time.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use libc::timespec;
use nix::sys::pthread::{pthread_kill, pthread_self};
use nix::sys::signal::Signal;

use crate::tools::*;

/// A user event that was triggered, for tests that need something pending.
fn triggered(ident: usize) -> [kevent; 2] {
    let add = change(ident, EVFILT_USER, EV_ADD);
    let trigger = kevent { fflags: NOTE_TRIGGER, ..change(ident, EVFILT_USER, 0) };
    [add, trigger]
}

/// The values of FreeBSD's sys/event.h, which other implementations and the
/// libc crate have too.
#[test]
fn the_constants_have_freebsds_values() {
    let filters = [EVFILT_READ, EVFILT_WRITE, EVFILT_SIGNAL, EVFILT_TIMER, EVFILT_USER];
    assert_eq!(filters, [-1, -2, -6, -7, -11]);
    let actions = [EV_ADD, EV_DELETE, EV_ENABLE, EV_DISABLE];
    assert_eq!(actions, [1, 2, 4, 8]);
    let kinds = [EV_ONESHOT, EV_CLEAR, EV_RECEIPT, EV_DISPATCH, EV_KEEPUDATA];
    assert_eq!(kinds, [0x10, 0x20, 0x40, 0x80, 0x200]);
    assert_eq!([EV_ERROR, EV_EOF], [0x4000, 0x8000]);
}

/// "creates a new kernel event queue and returns a descriptor": a real one, that
/// can itself be waited for.
#[test]
fn a_queue_is_a_descriptor_that_is_readable_with_events() {
    let inner = queue(&[change(1, EVFILT_USER, EV_ADD)]);
    let outer = queue(&[on(&inner, EVFILT_READ, EV_ADD)]);
    assert!(poll(&outer).is_empty());
    apply(&inner, &triggered(1));
    assert_eq!(wait_one(&outer).filter, EVFILT_READ);
}

/// "All changes contained in the changelist are applied before any pending
/// events are read from the queue."
#[test]
fn changes_are_applied_before_events_are_read() {
    let queue = queue(&triggered(1));
    let mut events = [change(0, 0, 0); 4];
    let delete = change(1, EVFILT_USER, EV_DELETE);
    let count = queue.kevent(&[delete], &mut events, Some(Duration::ZERO)).unwrap();
    assert_eq!(count, 0);
}

/// "When nevents is zero, kevent() will return immediately even if there is a
/// timeout specified".
#[test]
fn without_room_for_events_nothing_is_waited_for() {
    let queue = queue(&[]);
    let hour = Duration::from_secs(3600);
    assert_eq!(queue.kevent(&[], &mut [], Some(hour)).unwrap(), 0);
    assert_eq!(queue.kevent(&[], &mut [], None).unwrap(), 0);
}

/// "If timeout is a non-NULL pointer, it specifies a maximum interval to wait";
/// "If the time limit expires, then kevent() returns 0."
#[test]
fn a_timeout_ends_the_wait_and_not_too_early() {
    let queue = queue(&[]);
    let limit = Duration::from_micros(30_100);
    let start = Instant::now();
    let mut rest = limit;
    let mut events = [change(0, 0, 0)];
    loop {
        match queue.kevent(&[], &mut events, Some(rest)) {
            Ok(count) => break assert_eq!(count, 0),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Interrupted),
        }
        rest = limit.saturating_sub(start.elapsed());
    }
    assert!(start.elapsed() >= limit);
    assert!(start.elapsed() < LIMIT);
}

/// "If timeout is a NULL pointer, kevent() waits indefinitely."
#[test]
fn without_a_timeout_the_wait_lasts_until_an_event() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let queue = queue(&[on(&far, EVFILT_READ, EV_ADD)]);
    let (started, start) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let mut events = [change(0, 0, 0)];
        started.send(()).unwrap();
        loop {
            match queue.kevent(&[], &mut events, None) {
                Ok(count) => return (count, events[0].data),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::Interrupted),
            }
        }
    });
    start.recv().unwrap();
    assert!(!waiter.is_finished());
    near.write_all(b"abc").unwrap();
    assert_eq!(waiter.join().unwrap(), (1, 3));
}

/// And it sleeps until then: no waking to look.
#[test]
fn a_wait_sleeps_until_its_event() {
    let timer = kevent { data: 300, ..change(1, EVFILT_TIMER, EV_ADD | EV_ONESHOT) };
    let queue = queue(&[timer]);
    let mut list = [change(0, 0, 0)];
    let naps = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse::<u64>().unwrap()
    };
    let before = naps();
    assert_eq!(queue.kevent(&[], &mut list, None).unwrap(), 1);
    // One nap, and a few more should the log or a lock have been busy.
    assert!(naps() - before < 20);
}

/// "To effect a poll, the timeout argument should be non-NULL, pointing to a
/// zero-valued timespec structure."
#[test]
fn a_zero_timeout_only_looks() {
    let queue = queue(&[]);
    assert!(poll(&queue).is_empty());
    apply(&queue, &triggered(9));
    assert_eq!(poll(&queue).len(), 1);
}

/// "The same array may be used for the changelist and eventlist."
#[test]
fn one_array_serves_for_changes_and_events() {
    let queue = queue(&[]);
    let missing = change(3, EVFILT_USER, EV_DELETE);
    let [add, trigger] = triggered(4);
    let mut list = [missing, add, missing, trigger];
    // The two failures are written over changes that were read before.
    let count = queue.kevent_in_place(&mut list, 4, Some(Duration::ZERO)).unwrap();
    assert_eq!(count, 2);
    assert!(list[..2].iter().all(|entry| entry.ident == 3 && entry.flags == EV_ERROR));
    let count = queue.kevent_in_place(&mut list, 0, Some(Duration::ZERO)).unwrap();
    assert_eq!((count, list[0].ident), (1, 4));
}

/// "[EINVAL] The specified time limit or filter is invalid."
#[test]
fn wrong_time_limits_and_filters_are_refused() {
    let queue = queue(&[]);
    let mut list = [change(0, 0, 0)];
    assert_eq!(refused(&queue, change(0, -100, EV_ADD)), libc::EINVAL);
    assert_eq!(refused(&queue, change(0, 100, EV_ADD)), libc::EINVAL);
    for (tv_sec, tv_nsec) in [(-1, 0), (0, -1), (0, 1_000_000_000)] {
        let limit = timespec { tv_sec, tv_nsec };
        let error = queue.kevent_with_limit(&mut list, limit).unwrap_err().raw_os_error();
        assert_eq!(error, Some(libc::EINVAL), "{tv_sec} {tv_nsec}");
    }
}

/// "[EINVAL] The specified length of the event or change lists is negative";
/// "[EFAULT] There was an error reading or writing the kevent structure."
#[test]
fn negative_lengths_and_null_lists_are_refused() {
    let queue = queue(&[]);
    for (changes, events, errno) in
        [(-1, 0, libc::EINVAL), (0, -1, libc::EINVAL), (1, 0, libc::EFAULT), (0, 1, libc::EFAULT)]
    {
        let error = queue.kevent_without_lists(changes, events).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(errno), "{changes} {events}");
    }
    assert_eq!(queue.kevent_without_lists(0, 0).unwrap(), 0);
}

/// "returns the number of events placed in the eventlist, up to the value given
/// by nevents": the others come later, and each in its turn.
#[test]
fn a_short_event_list_gets_all_events_in_turns() {
    let changes: Vec<kevent> = (0..5).flat_map(triggered).collect();
    let queue = queue(&changes);
    let mut seen = [0; 5];
    for _ in 0..10 {
        let events = poll_room(&queue, 2);
        assert_eq!(events.len(), 2);
        for event in events {
            seen[event.ident] += 1;
        }
    }
    // Twenty reports over five events that stay.
    assert_eq!(seen, [4; 5]);
}

/// The emulation's own limit: what is beyond 1024 events comes with later calls.
#[test]
fn a_long_event_list_takes_several_calls() {
    const EVENTS: usize = 1100;
    let name = "calls::a_long_event_list_takes_several_calls";
    // Each event takes a descriptor.
    alone(name, r#"ulimit -n 1200 && exec "$@""#, || {
        let changes: Vec<kevent> = (0..EVENTS)
            .flat_map(|ident| {
                let [add, trigger] = triggered(ident);
                [kevent { flags: EV_ADD | EV_CLEAR, ..add }, trigger]
            })
            .collect();
        let queue = queue(&changes);
        let counts = [0; 3].map(|_: usize| poll_room(&queue, EVENTS).len());
        assert_eq!(counts, [1024, EVENTS - 1024, 0]);
    });
}

/// "[EINTR] A signal was delivered before the timeout expired and before any
/// events were placed on the kqueue for return"; "When kevent() call fails with
/// EINTR error, all changes in the changelist have been applied."
#[test]
fn a_signal_interrupts_the_wait_after_the_changes() {
    let count = std::sync::Arc::default();
    signal_hook::flag::register(libc::SIGPWR, count).unwrap();
    let (sender, receiver) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let queue = queue(&[]);
        sender.send(pthread_self()).unwrap();
        let mut events = [change(0, 0, 0)];
        let add = change(7, EVFILT_USER, EV_ADD);
        let error = queue.kevent(&[add], &mut events, None).unwrap_err();
        apply(&queue, &triggered(7)[1..]);
        (error.kind(), poll(&queue).len())
    });
    let thread = receiver.recv().unwrap();
    // The first one may come before the wait.
    let deadline = Instant::now() + LIMIT;
    while !waiter.is_finished() {
        assert!(Instant::now() < deadline);
        // Once the thread is over there is nobody to signal.
        let _ = pthread_kill(thread, Signal::SIGPWR);
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(waiter.join().unwrap(), (io::ErrorKind::Interrupted, 1));
}
