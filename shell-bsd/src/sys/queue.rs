//! kqueue(2), and the layouts that `struct kevent` has.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::ptr;

use libc::{c_int, c_long, time_t, timespec};

#[cfg(emulated)]
use super::emulated as system;
#[cfg(not(emulated))]
use libc as system;

use super::check;

// `udata` is a pointer or as wide as one, and carries 64 bits here.
const _: () = assert!(size_of::<usize>() == size_of::<u64>());

/// What a kevent is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A descriptor can be read, or a listener accepted from.
    Read,
    /// A descriptor can be written.
    Write,
    /// A signal came.
    Signal,
}

/// What a change does. What is added stays, and is reported by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Begins to watch.
    Add,
    /// Ends it.
    Delete,
}

/// An entry of a change list or of an event list.
///
/// The types of the fields differ from system to system, and FreeBSD has one more: hence the casts to whatever the type
/// is, and a structure that begins as zeroes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Kevent(system::kevent);

// SAFETY: where `udata` is a pointer it carries a number all the same, and neither the kernel (kqueue(2): "opaque") nor
// anyone here follows it. Nothing else in a kevent belongs to a thread.
unsafe impl Send for Kevent {}

impl Kevent {
    /// A change. `udata` comes back with the events.
    pub fn change(change: Change, ident: usize, filter: Filter, udata: u64) -> Self {
        let mut entry = Self::default();
        entry.0.ident = ident as _;
        entry.0.filter = match filter {
            Filter::Read => system::EVFILT_READ,
            Filter::Write => system::EVFILT_WRITE,
            Filter::Signal => system::EVFILT_SIGNAL,
        };
        entry.0.flags = match change {
            Change::Add => system::EV_ADD,
            Change::Delete => system::EV_DELETE,
        };
        entry.0.udata = udata as usize as _;
        entry
    }

    /// Has the change answered also when it succeeds.
    pub fn ask_receipt(&mut self) {
        self.0.flags |= system::EV_RECEIPT;
    }

    /// The descriptor or the signal.
    pub fn ident(&self) -> usize {
        self.0.ident as _
    }

    /// What it is about, if it is one of ours.
    pub fn filter(&self) -> Option<Filter> {
        match self.0.filter {
            system::EVFILT_READ => Some(Filter::Read),
            system::EVFILT_WRITE => Some(Filter::Write),
            system::EVFILT_SIGNAL => Some(Filter::Signal),
            _ => None,
        }
    }

    /// What the change gave that began the watch.
    pub fn udata(&self) -> u64 {
        self.0.udata as usize as u64
    }

    /// How many bytes, clients or signals there are.
    pub fn data(&self) -> i64 {
        self.0.data as _
    }

    /// Whether the stream has ended in the filter's direction; there may be data left.
    pub fn is_at_end(&self) -> bool {
        self.0.flags & system::EV_EOF != 0
    }

    /// If this answers a change: how it went, 0 for well.
    pub fn errno(&self) -> Option<c_int> {
        (self.0.flags & system::EV_ERROR != 0).then_some(self.0.data as c_int)
    }
}

impl Default for Kevent {
    fn default() -> Self {
        // SAFETY: a kevent is numbers and at most a pointer: all zeroes is one, by kqueue(2).
        Self(unsafe { std::mem::zeroed() })
    }
}

/// A queue. It is not inherited by a child, and close-on-exec besides.
pub struct Kqueue(RawFd);

impl Kqueue {
    /// A new queue.
    pub fn new() -> io::Result<Self> {
        // SAFETY: kqueue(2) takes no pointers.
        let queue = Self(check(unsafe { system::kqueue() })?);
        // SAFETY: fcntl(2) takes no pointer for F_SETFD, and the descriptor is ours.
        check(unsafe { libc::fcntl(queue.0, libc::F_SETFD, libc::FD_CLOEXEC) })?;
        Ok(queue)
    }

    /// Makes changes, and looks for no events. The first that fails is the error.
    pub fn apply(&self, changes: &[Kevent]) -> io::Result<()> {
        self.wait(changes, &mut [], Some(0)).map(drop)
    }

    /// Makes changes, then waits for events: so many milliseconds, or without end. Returns how many entries of `events`
    /// were filled. Where they have room for it, a change that fails is an entry there; then nothing is waited for.
    ///
    /// A signal handler that ran gives no events; the changes have been made by then (kqueue(2), EINTR).
    pub fn wait(&self, changes: &[Kevent], events: &mut [Kevent], limit_ms: Option<u64>) -> io::Result<usize> {
        let limit = limit_ms
            .map(|ms| timespec { tv_sec: (ms / 1000) as time_t, tv_nsec: (ms % 1000 * 1_000_000) as c_long });
        let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        let (first, room) = (changes.as_ptr().cast(), events.as_mut_ptr().cast());
        // SAFETY: kevent(2) reads that many changes, writes at most that many events, and reads the limit if there is
        // one; all live through the call. A `Kevent` is laid out as the system's.
        let count = unsafe { system::kevent(self.0, first, changes.len() as _, room, events.len() as _, limit) };
        match check(count) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Kqueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: it is open for as long as this is borrowed: only the drop closes it.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

impl Drop for Kqueue {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and nobody uses it after this: close(2).
        unsafe { system::close(self.0) };
    }
}

/// Events as no test can have a kernel report them.
#[cfg(test)]
mod made {
    use super::{Change, Filter, Kevent, c_int, system};

    impl Kevent {
        /// An event with this much data.
        pub fn event(ident: usize, filter: Filter, udata: u64, data: i64) -> Self {
            let mut event = Self::change(Change::Add, ident, filter, udata);
            event.0.flags = 0;
            event.0.data = data as _;
            event
        }

        /// The event with EV_EOF.
        pub fn at_end(mut self) -> Self {
            self.0.flags |= system::EV_EOF;
            self
        }

        /// The answer to this change.
        pub fn answered(mut self, errno: c_int) -> Self {
            self.0.flags = system::EV_ERROR;
            self.0.data = errno as _;
            self
        }

        fn fields(&self) -> (usize, Option<Filter>, u64, u64, i64) {
            (self.ident(), self.filter(), self.udata(), self.0.flags as u64, self.data())
        }
    }

    impl PartialEq for Kevent {
        fn eq(&self, other: &Self) -> bool {
            self.fields() == other.fields()
        }
    }

    impl std::fmt::Debug for Kevent {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let (ident, filter, udata, flags, data) = self.fields();
            write!(f, "{{{ident} {filter:?} udata {udata:#x} flags {flags:#x} data {data}}}")
        }
    }
}
