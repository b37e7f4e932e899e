//! The signals of the program, as something to watch.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;

use evserver_hosted::event_loop::SignalRequest;

use crate::sys::{self, SignalSet};

/// SIGINT, SIGTERM, SIGHUP and SIGUSR1, blocked and read from a descriptor: signalfd(2).
///
/// Made by `main` before any thread starts: a signal is delivered to whichever thread does not block it, so
/// all must. A SIGINT or SIGHUP that was ignored when the program started stays so (nohup(1), a shell's `&`); a SIGTERM
/// that was blocked is read all the same. Dropping it restores the mask.
///
/// A child inherits the mask of the thread that starts it. A program that starts children passes their commands through
/// [`Signals::let_through`], or they could not be terminated.
pub struct Signals {
    fd: OwnedFd,
    before: SignalSet,
}

impl Signals {
    /// Blocks the signals for this thread and those that it starts.
    pub fn block() -> io::Result<Self> {
        let kept = |signal: &i32| !(matches!(*signal, libc::SIGINT | libc::SIGHUP) && sys::is_ignored(*signal));
        let signals: Vec<_> =
            [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1].into_iter().filter(kept).collect();
        let signals = SignalSet::of(&signals);
        let before = sys::block_signals(&signals)?;
        match sys::signal_fd(&signals) {
            Ok(fd) => Ok(Self { fd, before }),
            Err(error) => {
                sys::restore_signals(&before);
                Err(error)
            }
        }
    }

    /// Has the child that `command` starts begin with no signal blocked.
    pub fn let_through(command: &mut Command) -> &mut Command {
        sys::unblock_in_child(command);
        command
    }

    /// What the next signal that arrived asks for.
    pub(crate) fn next(&self) -> Option<SignalRequest> {
        match sys::signal_read(&self.fd)? {
            libc::SIGUSR1 => Some(SignalRequest::Report),
            _ => Some(SignalRequest::Stop),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // What came too late must not kill once it is let through again.
        while self.next().is_some() {}
        sys::restore_signals(&self.before);
    }
}
