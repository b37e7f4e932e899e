//! Moving bytes over a connected socket.

use std::os::fd::{AsRawFd, OwnedFd};

use evserver_core::Io;
use libc::c_int;

use super::errno;

/// A peer that is gone is an error and no SIGPIPE: send(2).
#[cfg(not(target_vendor = "apple"))]
const SEND_FLAGS: c_int = libc::MSG_NOSIGNAL;

/// SO_NOSIGPIPE is set on each socket instead.
#[cfg(target_vendor = "apple")]
const SEND_FLAGS: c_int = 0;

/// Receives into `space`: recv(2).
#[inline]
pub fn receive(socket: &OwnedFd, space: &mut [u8]) -> Io {
    // SAFETY: recv(2) writes at most as many bytes as `space` has.
    match unsafe { libc::recv(socket.as_raw_fd(), space.as_mut_ptr().cast(), space.len(), 0) } {
        0 => Io::End,
        count if count > 0 => Io::Moved(count as usize),
        _ => transfer_error(errno()),
    }
}

/// Sends some of the first of `bytes`: send(2).
#[inline]
pub fn send(socket: &OwnedFd, bytes: &[u8]) -> Io {
    // SAFETY: send(2) reads at most as many bytes as `bytes` has.
    match unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), SEND_FLAGS) } {
        count if count >= 0 => Io::Moved(count as usize),
        _ => transfer_error(errno()),
    }
}

/// What an errno of recv(2) or send(2) means for the connection.
fn transfer_error(errno: c_int) -> Io {
    match errno {
        libc::EAGAIN => Io::WouldBlock,
        libc::EINTR => Io::Interrupted,
        // ENOBUFS and ENOMEM too: the socket stays ready, so that the poller, which knows nothing of the shortage, would wake
        // the loop for as long as it lasts.
        _ => Io::Failed,
    }
}

/// Ends our stream: shutdown(2). ENOTCONN means that the peer has reset it, which the next receive tells.
pub fn shutdown_write(socket: &OwnedFd) {
    // SAFETY: shutdown(2) takes no pointers.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) };
}

/// Ends both streams of a socket that a kevent names: shutdown(2). An error means that they have ended.
pub fn shutdown_both(ident: usize) {
    // SAFETY: shutdown(2) takes no pointers.
    unsafe { libc::shutdown(ident as c_int, libc::SHUT_RDWR) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_of_which_the_poller_knows_nothing_is_not_waited_for() {
        for errno in [libc::ENOBUFS, libc::ENOMEM] {
            assert_eq!(transfer_error(errno), Io::Failed);
        }
        assert_eq!((transfer_error(libc::EAGAIN), transfer_error(libc::EINTR)), (Io::WouldBlock, Io::Interrupted));
    }
}
