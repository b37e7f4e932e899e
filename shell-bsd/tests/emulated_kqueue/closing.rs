//! Closed descriptors, closed queues, and numbers that are used again.

use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::thread;

use rustix::io::{dup2, fcntl_dupfd_cloexec};

use crate::tools::*;

/// A number that no other test's descriptors reach; each test that closes such a
/// number takes its own, so that it stays closed.
static HIGH: AtomicI32 = AtomicI32::new(800);

/// A pair of sockets with data waiting on the second.
fn readable() -> (UnixStream, UnixStream) {
    let (mut near, far) = UnixStream::pair().unwrap();
    near.write_all(b"data").unwrap();
    (near, far)
}

/// "Calling close() on a file descriptor will remove any kevents that reference
/// the descriptor."
#[test]
fn closing_a_descriptor_removes_its_events() {
    let _closed_for_good = no_children();
    let (_near, far) = readable();
    let queue = queue(&[on(&far, EVFILT_READ, EV_ADD), on(&far, EVFILT_WRITE, EV_ADD)]);
    let delete = on(&far, EVFILT_READ, EV_DELETE);
    assert_eq!(poll(&queue).len(), 2);
    drop(far);
    assert!(poll(&queue).is_empty());
    // Another test may have opened the number again.
    let errno = refused(&queue, delete);
    assert!([libc::EBADF, libc::ENOENT].contains(&errno), "{errno}");
}

/// A number that was closed and used again is not in the queue until it is
/// added, and then as something new.
#[test]
fn a_number_that_is_used_again_starts_anew() {
    let _closed_for_good = no_children();
    let (_near, far) = readable();
    let (_other_near, other) = readable();
    let mut number: OwnedFd = far.into();
    let add = marked(on(&number, EVFILT_READ, EV_ADD), 1);
    for again in [
        on(&number, EVFILT_READ, EV_ENABLE),
        on(&number, EVFILT_READ, EV_DISABLE),
        on(&number, EVFILT_READ, EV_DELETE),
        on(&number, EVFILT_WRITE, EV_DELETE),
    ] {
        let queue = queue(&[add]);
        assert_eq!(poll(&queue).len(), 1);
        // Closes what the number means and opens it again, in one step.
        let (_next_near, next) = readable();
        dup2(&next, &mut number).unwrap();
        drop(next);
        assert!(poll(&queue).is_empty());
        assert_eq!(refused(&queue, again), libc::ENOENT);
    }
    let queue = queue(&[add, marked(on(&number, EVFILT_WRITE, EV_ADD), 1)]);
    dup2(&other, &mut number).unwrap();
    apply(&queue, &[marked(on(&number, EVFILT_READ, EV_ADD), 2)]);
    let event = wait_one(&queue);
    assert_eq!((event.filter, mark(&event)), (EVFILT_READ, 2));
}

/// A queue with an event on a number whose file a duplicate keeps open, and the
/// number then closed. Returns the sending end and the duplicate too.
fn ghost() -> (Kqueue, UnixStream, UnixStream, OwnedFd) {
    let (near, far) = readable();
    let number = fcntl_dupfd_cloexec(&far, HIGH.fetch_add(1, SeqCst)).unwrap();
    let queue = queue(&[marked(on(&number, EVFILT_READ, EV_ADD), 1)]);
    assert_eq!(poll(&queue).len(), 1);
    (queue, near, far, number)
}

/// Whether the kernel has nothing for the queue: no ghost that would wake it.
fn is_asleep(inner: &Kqueue) -> bool {
    poll(&queue(&[on(inner, EVFILT_READ, EV_ADD)])).is_empty()
}

/// The events go with the number, although a duplicate of the descriptor lives
/// on and is readable: each filter, and what else is in the queue stays.
#[test]
fn a_duplicate_does_not_keep_events() {
    for filter in [EVFILT_READ, EVFILT_WRITE] {
        let (queue, _near, far, number) = ghost();
        let (mut other_near, other) = UnixStream::pair().unwrap();
        let timer = kevent { data: 1, ..change(1, EVFILT_TIMER, EV_ADD | EV_DISABLE) };
        let changes = [
            on(&number, EVFILT_READ, EV_DELETE),
            on(&number, filter, EV_ADD),
            marked(on(&other, EVFILT_READ, EV_ADD), 2),
            change(1, EVFILT_USER, EV_ADD | EV_CLEAR),
            change(libc::SIGSYS as usize, EVFILT_SIGNAL, EV_ADD),
            timer,
        ];
        apply(&queue, &changes);
        assert_eq!(mark(&wait_one(&queue)), 0);
        drop(number);
        assert!(poll(&queue).is_empty());
        assert!(is_asleep(&queue));
        other_near.write_all(b"x").unwrap();
        assert_eq!(mark(&wait_one(&queue)), 2);
        apply(&queue, &[on(&other, EVFILT_READ, EV_DELETE)]);
        let trigger = kevent { fflags: NOTE_TRIGGER, ..change(1, EVFILT_USER, 0) };
        apply(&queue, &[trigger]);
        assert_eq!(wait_one(&queue).filter, EVFILT_USER);
        apply(&queue, &[change(1, EVFILT_TIMER, EV_ENABLE)]);
        assert_eq!(wait_one(&queue).filter, EVFILT_TIMER);
        drop(far);
    }
}

/// The same if the number was used again and added before it showed.
#[test]
fn a_duplicate_does_not_mix_with_the_new_owner_of_a_number() {
    let (queue, mut near, _far, mut number) = ghost();
    let (mut other_near, other) = UnixStream::pair().unwrap();
    dup2(&other, &mut number).unwrap();
    apply(&queue, &[marked(on(&number, EVFILT_READ, EV_ADD), 2)]);
    for _ in 0..3 {
        near.write_all(b"more for the ghost").unwrap();
        assert!(poll(&queue).is_empty());
    }
    assert!(is_asleep(&queue));
    other_near.write_all(b"x").unwrap();
    let event = wait_one(&queue);
    assert_eq!((mark(&event), event.data), (2, 1));
}

/// A thread that waits while the queue moves away from a ghost goes with it.
#[test]
fn a_thread_that_waits_is_not_left_behind() {
    for _ in 0..50 {
        let (near, far) = UnixStream::pair().unwrap();
        let mut number = far.as_fd().try_clone_to_owned().unwrap();
        let queue = queue(&[on(&number, EVFILT_READ, EV_ADD), change(1, EVFILT_USER, EV_ADD | EV_CLEAR)]);
        thread::scope(|scope| {
            let waiter = scope.spawn(|| wait_one(&queue).filter);
            let (_other_near, other) = UnixStream::pair().unwrap();
            dup2(&other, &mut number).unwrap();
            apply(&queue, &[on(&number, EVFILT_READ, EV_ADD)]);
            (&near).write_all(b"for the ghost").unwrap();
            // Seen by whichever thread is first.
            let here = poll(&queue);
            assert!(here.is_empty());
            let trigger = kevent { fflags: NOTE_TRIGGER, ..change(1, EVFILT_USER, 0) };
            apply(&queue, &[trigger]);
            assert_eq!(waiter.join().unwrap(), EVFILT_USER);
        });
    }
}

/// A queue with something of each kind.
fn furnished() -> Kqueue {
    // First, so that it gets the lowest number that is free.
    let queue = queue(&[]);
    let (_near, far) = UnixStream::pair().unwrap();
    let trigger = kevent { fflags: NOTE_TRIGGER, ..change(1, EVFILT_USER, 0) };
    let changes = [
        on(&far, EVFILT_WRITE, EV_ADD),
        change(1, EVFILT_TIMER, EV_ADD),
        change(1, EVFILT_USER, EV_ADD),
        trigger,
        change(libc::SIGURG as usize, EVFILT_SIGNAL, EV_ADD),
    ];
    apply(&queue, &changes);
    assert!(!poll(&queue).is_empty());
    queue
}

fn assert_is_empty(queue: &Kqueue) {
    assert!(poll(queue).is_empty());
    for filter in [EVFILT_TIMER, EVFILT_USER] {
        let delete = change(1, filter, EV_DELETE);
        assert_eq!(refused(queue, delete), libc::ENOENT);
    }
}

/// Closing a queue frees what belongs to it.
#[test]
fn a_closed_queue_leaves_no_descriptor_behind() {
    alone("closing::a_closed_queue_leaves_no_descriptor_behind", PLAIN, || {
        let open = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        let queue = furnished();
        assert!(open() > before);
        drop(queue);
        assert_eq!(open(), before);
    });
}

/// Neither a queue nor what belongs to it reaches a program that is executed;
/// and nothing that a thread may find empty makes it wait.
#[test]
fn all_descriptors_are_close_on_exec_and_counters_do_not_block() {
    let name = "closing::all_descriptors_are_close_on_exec_and_counters_do_not_block";
    alone(name, PLAIN, || {
        let queue = furnished();
        let mut counters = 0;
        for entry in fs::read_dir("/proc/self/fd").unwrap() {
            let path = entry.unwrap().path();
            // The directory's own descriptor is closed by now at the latest.
            let Ok(target) = fs::read_link(&path) else { continue };
            let number = path.file_name().unwrap().to_str().unwrap();
            if !target.to_str().unwrap().starts_with("anon_inode:") {
                continue;
            }
            let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
            let flags = i32::from_str_radix(flags.trim(), 8).unwrap();
            assert!(flags & libc::O_CLOEXEC != 0, "{target:?}");
            if number != queue.as_raw_fd().to_string() {
                assert!(flags & libc::O_NONBLOCK != 0, "{target:?}");
                counters += 1;
            }
        }
        // Timer, user event, and two for the signal.
        assert_eq!(counters, 4);
    });
}

/// A new queue with the number of a closed one is empty, however that one was
/// closed.
#[test]
fn a_new_queue_with_an_old_number_is_empty() {
    alone("closing::a_new_queue_with_an_old_number_is_empty", PLAIN, || {
        let old = furnished();
        let number = old.as_raw_fd();
        drop(old);
        let new = queue(&[]);
        assert_eq!(new.as_raw_fd(), number);
        assert_is_empty(&new);
        drop(new);

        let old = furnished();
        let number = old.as_raw_fd();
        nix::unistd::close(number).unwrap();
        // Its number belongs to the next one.
        std::mem::forget(old);
        let new = queue(&[]);
        assert_eq!(new.as_raw_fd(), number);
        assert_is_empty(&new);
    });
}

/// "[EBADF] The specified descriptor is invalid": it is no queue, or none any
/// more.
#[test]
fn a_number_that_is_no_queue_is_refused() {
    alone("closing::a_number_that_is_no_queue_is_refused", PLAIN, || {
        let closed = queue(&[]);
        let number = closed.as_raw_fd();
        let mut list = [change(0, 0, 0)];
        nix::unistd::close(number).unwrap();
        let error = closed.kevent(&[], &mut list, None).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));

        // The number is open again, as something else.
        let other = queue(&[change(1, EVFILT_USER, EV_ADD)]);
        assert_eq!(other.as_raw_fd(), number);
        nix::unistd::close(number).unwrap();
        let (near, _far) = UnixStream::pair().unwrap();
        assert_eq!(near.as_raw_fd(), number);
        for _ in 0..2 {
            let error = other.kevent(&[], &mut list, None).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        }
        // The number is the socket's.
        std::mem::forget((closed, other));
    });
}

/// A queue that is closed while a thread waits on it answers EBADF when the
/// thread wakes, also if the number is a queue again.
#[test]
fn closing_a_queue_under_a_waiting_thread_is_noticed() {
    alone("closing::closing_a_queue_under_a_waiting_thread_is_noticed", PLAIN, || {
        let (mut near, far) = UnixStream::pair().unwrap();
        let add = on(&far, EVFILT_READ, EV_ADD);
        let first = queue(&[add]);
        let number = first.as_raw_fd();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut list = [change(0, 0, 0)];
                let mark = change(1, EVFILT_USER, EV_ADD);
                first.kevent(&[mark], &mut list, Some(LIMIT))
            });
            // Once its change is there the thread is in its call.
            let delete = change(1, EVFILT_USER, EV_DELETE);
            while first.kevent(&[delete], &mut [], None).is_err() {
                thread::yield_now();
            }
            nix::unistd::close(number).unwrap();
            // Whether the thread waits already or is about to, there is
            // something in either queue to wake it.
            let second = queue(&[add]);
            assert_eq!(second.as_raw_fd(), number);
            near.write_all(b"x").unwrap();
            let error = waiter.join().unwrap().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EBADF));
            assert_eq!(wait_one(&second).data, 1);
        });
        // The number was the second one's.
        std::mem::forget(first);
    });
}
