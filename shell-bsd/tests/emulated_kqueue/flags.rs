//! The action flags, each over every filter that it matters to.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::tools::*;

/// A queue on which a readable and writable descriptor, a periodic timer and a
/// triggered user event are added with `flags`, and what keeps them ready.
fn all(flags: u16) -> (Kqueue, [kevent; 4], UnixStream, UnixStream) {
    let (mut near, far) = UnixStream::pair().unwrap();
    near.write_all(b"abc").unwrap();
    let mut timer = change(1, EVFILT_TIMER, EV_ADD | flags);
    timer.data = 1;
    let adds = [
        on(&far, EVFILT_READ, EV_ADD | flags),
        on(&far, EVFILT_WRITE, EV_ADD | flags),
        timer,
        change(2, EVFILT_USER, EV_ADD | flags),
    ];
    let queue = queue(&adds);
    let trigger = kevent { fflags: NOTE_TRIGGER, ..change(2, EVFILT_USER, 0) };
    apply(&queue, &[trigger]);
    (queue, adds, near, far)
}

/// The filters that are returned until all of `adds` were.
fn all_of(queue: &Kqueue, adds: &[kevent]) -> Vec<kevent> {
    let mut events: Vec<kevent> = Vec::new();
    while !adds.iter().all(|add| events.iter().any(|event| event.filter == add.filter)) {
        events.extend(wait(queue));
    }
    events
}

fn with(adds: &[kevent; 4], flags: u16) -> [kevent; 4] {
    adds.map(|add| change(add.ident, add.filter, flags))
}

/// Lets a millisecond timer that runs expire for certain.
fn let_the_timer_expire() {
    let other = kevent { data: 20, ..change(1, EVFILT_TIMER, EV_ADD | EV_ONESHOT) };
    wait_one(&queue(&[other]));
}

/// "Adding an event automatically enables it, unless overridden by the
/// EV_DISABLE flag."
#[test]
fn adding_enables_unless_disable_is_given() {
    let (queue, adds, _near, _far) = all(0);
    all_of(&queue, &adds);
    let (queue, adds, _near, _far) = all(EV_DISABLE);
    let_the_timer_expire();
    assert!(poll(&queue).is_empty());
    apply(&queue, &adds.map(|add| kevent { flags: EV_ADD, ..add }));
    apply(&queue, &[kevent { fflags: NOTE_TRIGGER, ..change(2, EVFILT_USER, 0) }]);
    all_of(&queue, &adds);
}

/// "Disable the event so kevent() will not return it. The filter itself is not
/// disabled"; EV_ENABLE: "Permit kevent() to return the event if it is
/// triggered."
#[test]
fn a_disabled_event_is_noted_and_returned_once_enabled() {
    let (queue, adds, _near, _far) = all(EV_DISABLE);
    let_the_timer_expire();
    assert!(poll(&queue).is_empty());
    apply(&queue, &with(&adds, EV_ENABLE));
    // At once, the timer's expiries and the trigger from before included.
    let mut filters: Vec<_> = poll(&queue).iter().map(|event| event.filter).collect();
    filters.sort_unstable();
    assert_eq!(filters, [EVFILT_USER, EVFILT_TIMER, EVFILT_WRITE, EVFILT_READ]);
    apply(&queue, &with(&adds, EV_DISABLE));
    let_the_timer_expire();
    assert!(poll(&queue).is_empty());
}

/// "Removes the event from the kqueue."
#[test]
fn a_deleted_event_is_gone() {
    let (queue, adds, _near, _far) = all(0);
    let_the_timer_expire();
    apply(&queue, &with(&adds, EV_DELETE));
    assert!(poll(&queue).is_empty());
    for change in with(&adds, EV_ENABLE) {
        assert_eq!(refused(&queue, change), libc::ENOENT);
    }
}

/// "Return only the first occurrence of the filter being triggered. After the
/// user retrieves the event from the kqueue, it is deleted."
#[test]
fn a_oneshot_event_is_deleted_after_its_first() {
    let (queue, adds, _near, _far) = all(EV_ONESHOT);
    let events = all_of(&queue, &adds);
    assert_eq!(events.len(), adds.len());
    assert!(events.iter().all(|event| event.flags & EV_ONESHOT != 0));
    let_the_timer_expire();
    assert!(poll(&queue).is_empty());
    for change in with(&adds, EV_DELETE) {
        assert_eq!(refused(&queue, change), libc::ENOENT);
    }
}

/// "Disable the event source immediately after delivery of an event."
#[test]
fn a_dispatched_event_is_disabled_after_each() {
    let (queue, adds, _near, _far) = all(EV_DISPATCH);
    for _ in 0..2 {
        assert_eq!(all_of(&queue, &adds).len(), adds.len());
        let_the_timer_expire();
        assert!(poll(&queue).is_empty());
        apply(&queue, &with(&adds, EV_ENABLE));
    }
}

/// "Reset the state of the event after it is retrieved by the user."
#[test]
fn a_cleared_event_comes_once_for_each_change_of_state() {
    let (queue, adds, mut near, _far) = all(EV_CLEAR);
    all_of(&queue, &adds);
    apply(&queue, &[change(1, EVFILT_TIMER, EV_DELETE)]);
    poll(&queue);
    assert!(poll(&queue).is_empty());
    near.write_all(b"de").unwrap();
    let event = wait_until(&queue, |event| event.filter == EVFILT_READ);
    assert_eq!(event.data, 5);
    assert!(poll(&queue).is_empty());
}

/// Without EV_CLEAR the event stays while its condition does.
#[test]
fn a_level_comes_as_long_as_it_lasts() {
    let (queue, _adds, _near, mut far) = all(0);
    apply(&queue, &[change(1, EVFILT_TIMER, EV_DELETE)]);
    for _ in 0..3 {
        assert_eq!(poll(&queue).len(), 3);
    }
    far.read_exact(&mut [0; 3]).unwrap();
    assert!(poll(&queue).iter().all(|event| event.filter != EVFILT_READ));
}

/// "Preserve the udata associated with an existing event"; "This flag may not be
/// used with EV_ADD."
#[test]
fn udata_is_kept_on_demand() {
    let (_near, far) = UnixStream::pair().unwrap();
    let queue = queue(&[marked(on(&far, EVFILT_WRITE, EV_ADD), 1)]);
    apply(&queue, &[marked(on(&far, EVFILT_WRITE, EV_ENABLE | EV_KEEPUDATA), 2)]);
    assert_eq!(mark(&wait_one(&queue)), 1);
    apply(&queue, &[marked(on(&far, EVFILT_WRITE, EV_ENABLE), 3)]);
    assert_eq!(mark(&wait_one(&queue)), 3);
    let both = on(&far, EVFILT_WRITE, EV_ADD | EV_KEEPUDATA);
    assert_eq!(refused(&queue, both), libc::EINVAL);
}

/// Disabled events cost nothing: a peer that hangs up cannot be declined in
/// epoll, and must not wake the wait over and over.
#[test]
fn a_hang_up_on_a_disabled_event_leaves_the_queue_asleep() {
    let _closed_for_good = no_children();
    let (near, far) = UnixStream::pair().unwrap();
    let inner = queue(&[on(&far, EVFILT_READ, EV_ADD | EV_DISABLE), on(&far, EVFILT_WRITE, EV_ADD | EV_DISABLE)]);
    drop(near);
    // The hang-up itself is noted once, inside.
    assert!(poll(&inner).is_empty());
    // What a queue watches is readable while the kernel has something for it.
    let outer = queue(&[on(&inner, EVFILT_READ, EV_ADD)]);
    let mut list = [change(0, 0, 0)];
    let limit = Some(Duration::from_millis(20));
    assert_eq!(outer.kevent(&[], &mut list, limit).unwrap_or(0), 0);
    apply(&inner, &[on(&far, EVFILT_READ, EV_ENABLE)]);
    assert_eq!(wait_one(&inner).flags, EV_EOF);
}
