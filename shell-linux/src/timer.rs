//! The one timer of a loop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use evserver_core::Time;

use crate::sys;

/// A timer that is armed for the nearest deadline.
///
/// Deadlines move away with every byte, and arming anew each time would be a system call a request. So an armed
/// timer is left alone while it would fire early: that wake-up finds nothing due and arms it for the deadline of
/// then.
pub struct Timer {
    fd: OwnedFd,
    armed: Option<Time>,
}

impl Timer {
    /// A timer that is not armed.
    pub fn new() -> io::Result<Self> {
        Ok(Self { fd: sys::timer_create()?, armed: None })
    }

    /// Makes sure that the loop wakes at `deadline` at the latest.
    pub fn arm(&mut self, deadline: Option<Time>) -> io::Result<()> {
        if let Some(deadline) = deadline
            && self.armed.is_none_or(|armed| deadline < armed)
        {
            sys::timer_arm(&self.fd, deadline)?;
            self.armed = Some(deadline);
        }
        Ok(())
    }

    /// It fired.
    pub fn fired(&mut self) {
        sys::timer_clear(&self.fd);
        self.armed = None;
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
