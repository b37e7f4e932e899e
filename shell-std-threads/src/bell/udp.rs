//! A bell for a system where only sockets can be polled and there are no pairs of them: a UDP socket that is connected
//! to itself, so that nobody else can ring it.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(super) struct Sound {
    socket: UdpSocket,
    /// It has been rung and need not be rung again.
    rung: AtomicBool,
}

impl Sound {
    pub(super) fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, rung: AtomicBool::new(false) })
    }

    pub(super) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) && self.socket.send(&[1]).is_err() {
            // The next ring tries again.
            self.rung.store(false, Ordering::Release);
        }
    }

    pub(super) fn clear(&self) {
        let mut byte = [0];
        // First the socket, then the flag: a ring in between leaves no datagram, but the look that follows a clear
        // sees what it was for. The other way round its datagram would be lost with the flag left standing.
        while self.socket.recv(&mut byte).is_ok() {}
        self.rung.store(false, Ordering::Release);
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsSocket for Sound {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        self.socket.as_socket()
    }
}

#[cfg(all(test, unix))]
impl std::os::fd::AsFd for Sound {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn rings(sound: &Sound) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(sound, PollFlags::IN)], Some(&at_once)).unwrap() > 0
    }

    #[test]
    fn it_rings_until_it_is_cleared_and_then_again() {
        let sound = Sound::new().unwrap();
        assert!(!rings(&sound));
        for _ in 0..3 {
            (0..1000).for_each(|_| sound.ring());
            // Loopback delivers before send returns.
            assert!(rings(&sound) && rings(&sound));
            sound.clear();
            assert!(!rings(&sound));
        }
    }
}
