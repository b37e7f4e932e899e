//! A bell that poll(2), epoll and kqueue can wait for: a pair of connected sockets.
//!
//! An eventfd would do on Linux and EVFILT_USER on the BSDs; a pair of sockets is the same everywhere, and it is
//! written to once a wake-up at most.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The longest single poll(2), a day: where its timeout is an `int` of milliseconds, 25 days do not fit.
const LONGEST_POLL: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub(super) struct Bell {
    rung: UnixStream,
    heard: UnixStream,
}

impl Bell {
    /// Close-on-exec (by std) and non-blocking on both ends: a wake must not wait, and neither must a clear.
    pub(super) fn new() -> io::Result<Self> {
        let (rung, heard) = UnixStream::pair()?;
        rung.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        Ok(Self { rung, heard })
    }

    pub(super) fn ring(&self) {
        // Full would mean that bytes are unread, so that the other side wakes anyway.
        while let Err(error) = (&self.rung).write(&[1])
            && error.kind() == io::ErrorKind::Interrupted
        {}
    }

    pub(super) fn silence(&self) {
        // Usually one byte; a few when threads rang while this side was clearing.
        let mut bytes = [0; 16];
        loop {
            match (&self.heard).read(&mut bytes) {
                // A stream that gives less than was asked for is empty (epoll(7)); one more byte is a new event.
                Ok(count) if count == bytes.len() => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }

    pub(super) fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let start = Instant::now();
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(start.elapsed()));
            let part = whole_milliseconds(left.unwrap_or(LONGEST_POLL).min(LONGEST_POLL));
            let part = Timespec { tv_sec: part.as_secs() as _, tv_nsec: part.subsec_nanos() as _ };
            match poll(&mut [PollFd::new(&self.heard, PollFlags::IN)], Some(&part)) {
                Ok(0) if left.is_some_and(|left| left <= LONGEST_POLL) => return Ok(false),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Rounds up: cut to less, the last part of a millisecond would be waited out by polling at full speed.
fn whole_milliseconds(time: Duration) -> Duration {
    const MS: u32 = 1_000_000;
    match time.subsec_nanos() % MS {
        0 => time,
        rest => time.saturating_add(Duration::from_nanos(u64::from(MS - rest))),
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_round_up() {
        for (nanos, ms) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2), (999_999_999, 1000)] {
            assert_eq!(whole_milliseconds(Duration::from_nanos(nanos)), Duration::from_millis(ms));
        }
    }

    #[test]
    fn both_ends_are_close_on_exec_and_non_blocking() {
        let bell = Bell::new().unwrap();
        for end in [&bell.rung, &bell.heard] {
            assert!(rustix::io::fcntl_getfd(end).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
            assert!(rustix::fs::fcntl_getfl(end).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
        }
    }

    #[test]
    fn a_bell_that_is_rung_for_ever_neither_blocks_nor_stays_loud() {
        let bell = Bell::new().unwrap();
        for _ in 0..1_000_000 {
            bell.ring();
        }
        assert!(bell.wait(None).unwrap());
        bell.silence();
        assert!(!bell.wait(Some(Duration::ZERO)).unwrap());
    }
}
