//! A queue without unsafe code, for tests.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_long, time_t, timespec};

use super::abi::kevent;

/// A queue that is closed when it is dropped.
///
/// It calls [`super::kqueue`], [`super::kevent`] and [`super::close`] with
/// nothing added, so what it shows is what they do.
#[derive(Debug)]
pub struct Kqueue(c_int);

impl Kqueue {
    /// A new queue.
    ///
    /// # Errors
    /// As kqueue(2), such as EMFILE.
    pub fn new() -> io::Result<Self> {
        // SAFETY: it takes nothing; kqueue(2).
        let kq = unsafe { super::kqueue() };
        if kq < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(kq))
    }

    /// Applies `changes`, then waits for `events` at most `timeout`, or for ever.
    /// Returns how many events there are.
    ///
    /// # Errors
    /// As kevent(2).
    pub fn kevent(
        &self,
        changes: &[kevent],
        events: &mut [kevent],
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        let limit = timeout.map(timespec_of);
        let (first, room) = (events.as_mut_ptr(), length(events.len()));
        // SAFETY: the lists have these lengths, and live through the call.
        unsafe { self.call(changes.as_ptr(), length(changes.len()), first, room, limit) }
    }

    /// The same with one array for both: its first `changes` entries are
    /// applied, and events overwrite it.
    ///
    /// # Errors
    /// As kevent(2).
    ///
    /// # Panics
    /// If there are not that many entries.
    pub fn kevent_in_place(
        &self,
        list: &mut [kevent],
        changes: usize,
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        assert!(changes <= list.len(), "more changes than entries");
        let limit = timeout.map(timespec_of);
        let (first, room) = (list.as_mut_ptr(), length(list.len()));
        // SAFETY: the list has that length and lives through the call; kevent(2)
        // allows the same array for both.
        unsafe { self.call(first, length(changes), first, room, limit) }
    }

    /// What kevent(2) answers to a time limit of any value.
    ///
    /// # Errors
    /// As kevent(2).
    pub fn kevent_with_limit(&self, events: &mut [kevent], limit: timespec) -> io::Result<usize> {
        let (first, room) = (events.as_mut_ptr(), length(events.len()));
        // SAFETY: the list has that length and lives through the call.
        unsafe { self.call(ptr::null(), 0, first, room, Some(limit)) }
    }

    /// What kevent(2) answers to lengths of any value, with no lists.
    ///
    /// # Errors
    /// As kevent(2).
    pub fn kevent_without_lists(&self, changes: c_int, events: c_int) -> io::Result<usize> {
        // SAFETY: null lists are refused unless their length is 0.
        unsafe { self.call(ptr::null(), changes, ptr::null_mut(), events, None) }
    }

    /// # Safety
    /// As for [`super::kevent`].
    unsafe fn call(
        &self,
        changelist: *const kevent,
        nchanges: c_int,
        eventlist: *mut kevent,
        nevents: c_int,
        limit: Option<timespec>,
    ) -> io::Result<usize> {
        let timeout = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the lists as promised; the timeout is null or lives on.
        let count = unsafe { super::kevent(self.0, changelist, nchanges, eventlist, nevents, timeout) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }
}

impl AsRawFd for Kqueue {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for Kqueue {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this queue's own; close(2).
        unsafe { super::close(self.0) };
    }
}

fn length(entries: usize) -> c_int {
    c_int::try_from(entries).unwrap_or(c_int::MAX)
}

fn timespec_of(duration: Duration) -> timespec {
    timespec {
        tv_sec: time_t::try_from(duration.as_secs()).unwrap_or(time_t::MAX),
        tv_nsec: c_long::from(duration.subsec_nanos().cast_signed()),
    }
}
