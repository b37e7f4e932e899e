//! A bell that any number of threads hear while they wait for a socket.

use std::io;

#[cfg(unix)]
mod unix;
// Built for its tests on Unix too, so that what Windows runs has run somewhere.
#[cfg(any(windows, all(test, unix)))]
mod udp;

#[cfg(windows)]
use udp::Sound;
#[cfg(unix)]
use unix::Sound;

/// Something to poll beside a socket: readable from a ring until it is cleared.
///
/// A bell that is never cleared tells every thread that polls it, now or later. That is how all threads are woken
/// without touching their sockets: to shut a socket's receiving side would wake its thread too, but then bytes of the
/// peer's that are still under way make Linux reset the connection (`tcp_rcv_state_process`, as RFC 1122 4.2.2.13
/// allows), make Windows do the same, and are thrown away with what was received already on the BSDs. Each breaks
/// rule 5 or rule 12.
#[derive(Debug)]
pub struct Bell {
    sound: Sound,
}

impl Bell {
    /// A silent bell.
    ///
    /// # Errors
    /// Those of making a pair of sockets.
    pub fn new() -> io::Result<Self> {
        Ok(Self { sound: Sound::new()? })
    }

    /// Rings; once is enough until the next [`clear`](Self::clear).
    pub fn ring(&self) {
        self.sound.ring();
    }

    /// Silences it. What the rings were for is looked at afterwards, so that no ring is missed.
    pub fn clear(&self) {
        self.sound.clear();
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Bell {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.sound.as_fd()
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsSocket for Bell {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        self.sound.as_socket()
    }
}
