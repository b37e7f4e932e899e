//! A bell made of the waker that the shells share: a pair of Unix sockets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use evserver_hosted::{WakeSource, Waker};

#[derive(Debug)]
pub(super) struct Sound {
    waker: Waker,
    source: WakeSource,
}

impl Sound {
    pub(super) fn new() -> io::Result<Self> {
        let (waker, source) = Waker::pair()?;
        Ok(Self { waker, source })
    }

    pub(super) fn ring(&self) {
        self.waker.wake();
    }

    pub(super) fn clear(&self) {
        self.source.clear();
    }
}

impl AsFd for Sound {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}
