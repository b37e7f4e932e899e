//! What becomes of a change: errors, receipts, what is kept.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::tools::*;

/// A descriptor number beyond any limit of this system.
const NO_DESCRIPTOR: usize = 1_000_000_000;

/// An event that does not exist, to fail on.
fn missing() -> kevent {
    change(77, EVFILT_USER, EV_DELETE)
}

fn trigger(ident: usize) -> kevent {
    kevent { fflags: NOTE_TRIGGER, ..change(ident, EVFILT_USER, 0) }
}

/// "there may only be one unique kevent per kqueue"; "Re-adding an existing
/// event will modify the parameters of the original event, and not result in a
/// duplicate entry."
#[test]
fn adding_again_modifies_and_does_not_duplicate() {
    let (near, far) = UnixStream::pair().unwrap();
    let queue =
        queue(&[marked(on(&far, EVFILT_WRITE, EV_ADD | EV_CLEAR), 1), marked(on(&far, EVFILT_WRITE, EV_ADD), 2)]);
    for _ in 0..2 {
        let event = wait_one(&queue);
        assert_eq!((mark(&event), event.flags), (2, 0));
    }
    apply(&queue, &[on(&far, EVFILT_WRITE, EV_DELETE)]);
    assert!(poll(&queue).is_empty());
    drop(near);
}

/// "A kevent is identified by the (ident, filter) pair".
#[test]
fn the_same_ident_in_another_filter_is_another_event() {
    let queue = queue(&[
        marked(change(5, EVFILT_USER, EV_ADD), 1),
        marked(change(5, EVFILT_TIMER, EV_ADD | EV_ONESHOT), 2),
        trigger(5),
    ]);
    // The trigger was a change too and has set the udata.
    let mut marks: Vec<_> = Vec::new();
    while marks.len() < 2 {
        for event in wait(&queue) {
            if !marks.contains(&(event.filter, mark(&event))) {
                marks.push((event.filter, mark(&event)));
            }
        }
    }
    marks.sort_unstable();
    assert_eq!(marks, [(EVFILT_USER, 0), (EVFILT_TIMER, 2)]);
}

/// "Opaque user-defined value passed through the kernel unchanged", and the same
/// of `ext`.
#[test]
fn udata_and_ext_come_back_unchanged() {
    let (_near, far) = UnixStream::pair().unwrap();
    let mut add = marked(on(&far, EVFILT_WRITE, EV_ADD), usize::MAX);
    add.ext = [1, u64::MAX, 3, 4];
    let event = wait_one(&queue(&[add]));
    assert_eq!((mark(&event), event.ext), (usize::MAX, add.ext));
}

/// "[ENOENT] The event could not be found to be modified or deleted."
#[test]
fn an_event_that_is_not_there_is_not_found() {
    let (_near, far) = UnixStream::pair().unwrap();
    let queue = queue(&[on(&far, EVFILT_READ, EV_ADD)]);
    for flags in [EV_DELETE, EV_ENABLE, EV_DISABLE, 0] {
        for filter in [EVFILT_TIMER, EVFILT_SIGNAL, EVFILT_USER] {
            assert_eq!(refused(&queue, change(1, filter, flags)), libc::ENOENT);
        }
        // The other filter of the descriptor is there, this one is not.
        assert_eq!(refused(&queue, on(&far, EVFILT_WRITE, flags)), libc::ENOENT);
    }
    apply(&queue, &[on(&far, EVFILT_READ, EV_DELETE)]);
    let again = on(&far, EVFILT_READ, EV_DELETE);
    assert_eq!(refused(&queue, again), libc::ENOENT);
}

/// "[EBADF] The specified descriptor is invalid."
#[test]
fn a_descriptor_that_is_not_open_is_refused() {
    let queue = queue(&[]);
    for ident in [NO_DESCRIPTOR, usize::MAX] {
        for flags in [EV_ADD, EV_DELETE, EV_ENABLE] {
            for filter in [EVFILT_READ, EVFILT_WRITE] {
                let errno = refused(&queue, change(ident, filter, flags));
                assert_eq!(errno, libc::EBADF, "{ident} {flags}");
            }
        }
    }
}

/// "If an error occurs while processing an element of the changelist and there
/// is enough room in the eventlist, then the event will be placed in the
/// eventlist with EV_ERROR set in flags and the system error in data."
#[test]
fn errors_are_entries_and_the_other_changes_apply() {
    let queue = queue(&[]);
    let changes = [
        marked(missing(), 1),
        change(1, EVFILT_USER, EV_ADD),
        marked(change(NO_DESCRIPTOR, EVFILT_READ, EV_DELETE), 2),
        trigger(1),
    ];
    let mut list = [change(0, 0, 0); 4];
    let count = queue.kevent(&changes, &mut list, Some(Duration::ZERO)).unwrap();
    let seen: Vec<_> = list[..count]
        .iter()
        .map(|entry| (entry.ident, entry.filter, entry.flags, entry.data, mark(entry)))
        .collect();
    let (enoent, ebadf) = (libc::ENOENT.into(), libc::EBADF.into());
    assert_eq!(seen, [(77, EVFILT_USER, EV_ERROR, enoent, 1), (NO_DESCRIPTOR, EVFILT_READ, EV_ERROR, ebadf, 2),]);
    assert_eq!(wait_one(&queue).ident, 1);
}

/// "Otherwise, -1 will be returned, and errno will be set": and FreeBSD's kernel
/// stops there.
#[test]
fn an_error_without_room_ends_the_call() {
    let queue = queue(&[change(1, EVFILT_USER, EV_ADD)]);
    let error = queue.kevent(&[missing(), trigger(1)], &mut [], None).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    assert!(poll(&queue).is_empty());
    // Room for the first of two errors only.
    let mut list = [change(0, 0, 0)];
    let error = queue.kevent(&[missing(), missing(), trigger(1)], &mut list, None).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    assert!(poll(&queue).is_empty());
}

/// "making bulk changes to a kqueue without draining any pending events"; "it
/// forces EV_ERROR to always be returned. When a filter is successfully added the
/// data field will be zero."
#[test]
fn receipts_answer_each_change_and_drain_nothing() {
    let queue = queue(&[change(1, EVFILT_USER, EV_ADD), trigger(1)]);
    let changes = [
        change(2, EVFILT_USER, EV_ADD | EV_RECEIPT),
        change(77, EVFILT_USER, EV_DELETE | EV_RECEIPT),
        change(2, EVFILT_USER, EV_DELETE | EV_RECEIPT),
    ];
    let mut list = [change(0, 0, 0); 8];
    let count = queue.kevent(&changes, &mut list, None).unwrap();
    let seen: Vec<_> = list[..count].iter().map(|entry| (entry.ident, entry.flags, entry.data)).collect();
    assert_eq!(seen, [(2, EV_ERROR, 0), (77, EV_ERROR, libc::ENOENT.into()), (2, EV_ERROR, 0),]);
    assert_eq!(wait_one(&queue).ident, 1);
}

/// "if this flag is encountered and there is no remaining space in eventlist to
/// hold the EV_ERROR event, then subsequent changes will not get processed."
#[test]
fn a_receipt_without_room_ends_the_call() {
    let queue = queue(&[]);
    let changes = [change(1, EVFILT_USER, EV_ADD | EV_RECEIPT), change(2, EVFILT_USER, EV_ADD)];
    assert_eq!(queue.kevent(&changes, &mut [], None).unwrap(), 0);
    apply(&queue, &[change(1, EVFILT_USER, EV_DELETE)]);
    let second = change(2, EVFILT_USER, EV_DELETE);
    assert_eq!(refused(&queue, second), libc::ENOENT);
}

/// A change whose filter is 0 is skipped.
#[test]
fn a_change_without_a_filter_is_skipped() {
    let queue = queue(&[change(1, 0, EV_ADD), change(2, EVFILT_USER, EV_ADD)]);
    apply(&queue, &[change(2, EVFILT_USER, EV_DELETE)]);
}

/// Notes that are not there are refused and not ignored.
#[test]
fn notes_that_are_missing_are_refused() {
    const NOTE_LOWAT: u32 = 1;
    const NOTE_ABSTIME: u32 = 16;
    let (_near, far) = UnixStream::pair().unwrap();
    let queue = queue(&[]);
    for (mut change, note) in [
        (on(&far, EVFILT_READ, EV_ADD), NOTE_LOWAT),
        (on(&far, EVFILT_WRITE, EV_ADD), NOTE_LOWAT),
        (change(1, EVFILT_TIMER, EV_ADD), NOTE_ABSTIME),
    ] {
        change.fflags = note;
        assert_eq!(refused(&queue, change), libc::EINVAL);
    }
}
