//! `kqueue` and `kevent` for Linux, so that the kqueue shell can be tested where
//! the kernel has none. Never compiled on a BSD; not meant for production.
//!
//! The two functions, `struct kevent` and the constants have the names, types
//! and values that the libc crate has for FreeBSD, so that a `use` is all that
//! tells the emulation from the system, or from another implementation. What
//! they do is described by FreeBSD's kqueue(2), for the part that follows.
//!
//! # How it works
//!
//! The queue's descriptor is an epoll instance. A descriptor of the caller's is
//! one registration there, with up to two knotes, `EVFILT_READ` and
//! `EVFILT_WRITE`, over it. A timer is a timerfd, a user event an eventfd, a
//! signal an eventfd that a handler adds to, and a signalfd for when it is
//! blocked. A change costs at most one `epoll_ctl` (adding and deleting a
//! signal: two; adding a descriptor whose number was closed and used again:
//! two), a wait one `epoll_wait`, and an event the few calls that find its
//! `data` out.
//!
//! What it needs beside the descriptor lies in a table by the descriptor's
//! number. Close a queue with [`close`], which frees that. After close(2) it
//! lies there until the number is next used here: a call on the number answers
//! EBADF if it is not a queue now, and a new queue of that number starts empty.
//!
//! # What is there
//!
//! - `EV_ADD`, `EV_DELETE`, `EV_ENABLE`, `EV_DISABLE`, `EV_ONESHOT`,
//!   `EV_DISPATCH`, `EV_CLEAR`, `EV_RECEIPT`, `EV_KEEPUDATA`, `EV_EOF`,
//!   `EV_ERROR`.
//! - `EVFILT_READ` and `EVFILT_WRITE` on sockets, pipes and what else epoll
//!   takes.
//! - `EVFILT_TIMER`, periodic or once, in the four units.
//! - `EVFILT_SIGNAL`, beside the program's handlers.
//! - `EVFILT_USER`, triggered from any thread.
//!
//! # Where FreeBSD's kernel says more than its page, and is followed
//!
//! - A failed change (or one with `EV_RECEIPT`) for which the event list has no
//!   room ends the call: the changes behind it are not applied.
//! - If any change was answered with an `EV_ERROR` entry, the call returns these
//!   entries at once and looks for no events.
//! - A change whose filter is 0 is skipped.
//! - Every change to an existing event but a delete sets its `udata`, unless it
//!   has `EV_KEEPUDATA`.
//! - `NOTE_TRIGGER` in the change that adds a user event does nothing, and one
//!   that comes together with `EV_CLEAR` is undone by it.
//!
//! # Where the kernel does not do what its page says
//!
//! The page is followed: adding an event again updates its flags (`EV_CLEAR`,
//! `EV_ONESHOT`, …) and `ext`, and enables it. The kernels of the BSDs keep the
//! flags of the first addition and leave a disabled event disabled. A program
//! that is to run there deletes an event before it changes these, and uses
//! `EV_ENABLE`.
//!
//! # Deviations from kqueue(2)
//!
//! The queue:
//! - Its descriptor is close-on-exec from the start, is inherited by fork(2),
//!   and answers only under the number that [`kqueue`] returned: on a duplicate
//!   of it, `kevent` is EBADF.
//! - Closing a queue does not wake who waits on it in another thread; they get
//!   EBADF when they wake.
//! - If a queue is closed with close(2) and the number goes to an epoll instance
//!   of somebody else's, calls on it are not refused.
//! - A call returns at most 1024 events, and rounds its timeout up to whole
//!   milliseconds.
//! - EINTR also comes after the process was stopped and continued, which is no
//!   signal handler's doing; epoll_wait(2), signal(7).
//! - `EV_FORCEONESHOT`, the filters that are not listed above, and the notes
//!   `NOTE_LOWAT`, `NOTE_FILE_POLL` and `NOTE_ABSTIME` are EINVAL.
//!
//! Descriptors:
//! - Regular files and directories are EPERM (epoll refuses them). FreeBSD has
//!   `EVFILT_READ` for them.
//! - `fflags` is always 0, where FreeBSD gives the socket's error: Linux has no
//!   way to look at the error that leaves it for the next receive or send.
//! - When a socket is ready is for Linux to say. A socket is writable when a
//!   third of its buffer is free, not from `SO_SNDLOWAT` bytes on; one that was
//!   never connected counts as hung up, where FreeBSD reports nothing.
//! - `data` of `EVFILT_READ` is the queue's length for a listening TCP socket; 1
//!   for a listening Unix socket, an eventfd or a nested queue; and the next
//!   datagram's size for a datagram socket. `data` of `EVFILT_WRITE` is the size
//!   of the send buffer less what waits in it, which is more than it takes,
//!   because Linux counts its overhead too; at least 1.
//! - With `EV_CLEAR` an event may come again although only the *other*
//!   direction has changed, or the other knote of the descriptor: there is one
//!   registration for both. Without `EV_CLEAR` on either, nothing comes twice
//!   without reason.
//! - `EV_EOF` of `EVFILT_WRITE` after shutdown(2) on this side is seen on TCP
//!   and Unix stream sockets.
//! - A closed descriptor's knotes vanish with the last duplicate of it, not with
//!   the number. If a duplicate lives (dup(2), fork(2)), the registration shows
//!   as soon as it is ready and the number is closed, or is added again: the
//!   queue then moves to a new epoll instance without it, and no event is lost
//!   or invented, except that events with `EV_CLEAR` may come once more. While
//!   the number belongs to another file that is not in the queue, though, that
//!   file's `data` would be reported with the old `udata`. So delete before you
//!   close, or do not duplicate.
//!
//! Timers:
//! - Each takes a descriptor. ENOMEM when there is none left.
//!
//! Signals:
//! - A queue's watch on a signal takes two descriptors; 128 watches in all, then
//!   ENOMEM.
//! - The handler that the program has when it adds the event is wrapped by ours
//!   until the last watch goes; sigaction(2) shows ours meanwhile. One that is
//!   set later takes our place, and deliveries are not seen until the event is
//!   added again or changed, which wraps it. Set handlers first.
//! - A signal that is ignored gets a handler while it is watched, so it can
//!   interrupt a wait on *another* queue with EINTR.
//! - A blocked signal is counted when a thread that blocks it waits on the
//!   queue, and is taken away by that: it will not reach a handler later, or in
//!   another thread that does not block it. While it is pending further ones
//!   merge with it, as signals do, so `data` may be less than the number sent.
//! - A child that was forked and has not called exec yet counts the signals that
//!   it gets in its parent's queue.
//! - A signal that meets its default action with no handler set is not counted
//!   if that action ends or stops the process.

mod abi;
mod counter;
mod kernel;
mod knote;
mod measure;
mod queue;
mod safe;
mod signals;
mod sink;
mod state;
mod token;
mod watched;

use std::time::Duration;

use libc::{c_int, timespec};

pub use abi::*;
pub use safe::Kqueue;

use kernel::Errno;
use queue::Queue;
use sink::Sink;

/// Nanoseconds in a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// Makes a queue and returns its descriptor, or -1 and errno.
///
/// # Safety
/// None is needed; it is unsafe because the system's function is.
pub unsafe fn kqueue() -> c_int {
    result(Queue::create())
}

/// Closes a descriptor as close(2) does and, if it is a queue, frees what
/// belongs to it.
///
/// # Safety
/// As for close(2): nobody may use the number after that in the belief that it
/// is still theirs.
pub unsafe fn close(fd: c_int) -> c_int {
    Queue::forget(fd);
    // SAFETY: the caller gives the descriptor up; close(2).
    unsafe { libc::close(fd) }
}

/// Applies the changes, then waits for events, and returns how many it has put
/// in `eventlist`, or -1 and errno.
///
/// # Safety
/// `changelist` must be valid for reads of `nchanges` entries and `eventlist`
/// for writes of `nevents`; they may be the same array. `timeout` must be null
/// or valid for reads.
pub unsafe fn kevent(
    kq: c_int,
    changelist: *const kevent,
    nchanges: c_int,
    eventlist: *mut kevent,
    nevents: c_int,
    timeout: *const timespec,
) -> c_int {
    // SAFETY: as promised to this function.
    result(unsafe { call(kq, changelist, nchanges, eventlist, nevents, timeout) })
}

/// # Safety
/// As for [`kevent`].
unsafe fn call(
    kq: c_int,
    changelist: *const kevent,
    nchanges: c_int,
    eventlist: *mut kevent,
    nevents: c_int,
    timeout: *const timespec,
) -> Result<c_int, Errno> {
    let changes = usize::try_from(nchanges).map_err(|_| libc::EINVAL)?;
    let room = usize::try_from(nevents).map_err(|_| libc::EINVAL)?;
    if changes > 0 && changelist.is_null() || room > 0 && eventlist.is_null() {
        return Err(libc::EFAULT);
    }
    let queue = Queue::find(kq)?;
    // SAFETY: `eventlist` has room for that many, as promised.
    let mut sink = unsafe { Sink::new(eventlist, room) };
    if changes > 0 {
        let mut state = queue.open_state()?;
        for index in 0..changes {
            // Read one by one, since the event list may be the same array: a
            // change adds at most one entry to it, so none is overwritten
            // before it was read.
            // SAFETY: within the change list, as promised.
            let mut change = unsafe { changelist.add(index).read() };
            if change.filter == 0 {
                continue;
            }
            let outcome = state.change(&change);
            if outcome.is_ok() && change.flags & EV_RECEIPT == 0 {
                continue;
            }
            if sink.is_full() {
                return outcome.map(|()| 0);
            }
            change.flags = EV_ERROR;
            change.data = outcome.err().unwrap_or(0).into();
            sink.push(change);
        }
    }
    if sink.filled() == 0 && !sink.is_full() {
        // SAFETY: null or valid, as promised.
        let limit = match unsafe { timeout.as_ref() } {
            None => None,
            Some(limit) => Some(duration(limit)?),
        };
        queue.wait(limit, &mut sink)?;
    }
    // At most `nevents`, which is a c_int.
    Ok(sink.filled() as c_int)
}

/// A timeout that may be used, or EINVAL.
fn duration(limit: &timespec) -> Result<Duration, Errno> {
    let seconds = u64::try_from(limit.tv_sec).map_err(|_| libc::EINVAL)?;
    if !(0..NANOSECONDS).contains(&limit.tv_nsec) {
        return Err(libc::EINVAL);
    }
    Ok(Duration::new(seconds, limit.tv_nsec as u32))
}

/// Says a result as a system call does.
fn result(result: Result<c_int, Errno>) -> c_int {
    result.unwrap_or_else(|error| {
        kernel::set_errno(error);
        -1
    })
}
