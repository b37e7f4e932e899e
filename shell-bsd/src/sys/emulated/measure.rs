//! What a descriptor's event says beside that it is ready: how much, and
//! whether the stream has ended.

use std::mem::MaybeUninit;

use libc::{c_int, c_void, socklen_t, tcp_info};

use super::kernel::{Errno, errno};

/// States of a TCP socket whose sending side is shut: `enum` in the kernel's
/// include/net/tcp_states.h, which getsockopt(TCP_INFO) reports; tcp(7).
const TCP_SENDING_SHUT: [u8; 6] = [
    4,  // FIN_WAIT1
    5,  // FIN_WAIT2
    6,  // TIME_WAIT
    7,  // CLOSE
    9,  // LAST_ACK
    11, // CLOSING
];

/// An event's `data`, and whether it carries `EV_EOF`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) data: i64,
    pub(super) eof: bool,
}

/// For `EVFILT_READ`: bytes that can be read, or connections that can be
/// accepted. EBADF if the descriptor is gone.
pub(super) fn reading(fd: c_int, ready: u32) -> Result<Measure, Errno> {
    // EPOLLRDHUP: the peer has shut its sending side or we our receiving one.
    // EPOLLHUP: both directions, or the last writer of a pipe has gone.
    let eof = has(ready, libc::EPOLLRDHUP) || has(ready, libc::EPOLLHUP);
    let data = match count(fd, libc::FIONREAD) {
        Ok(bytes) => i64::from(bytes),
        // FIONREAD on a listening socket; tcp(7), unix(7).
        Err(libc::EINVAL) => backlog(fd),
        Err(libc::EBADF) => return Err(libc::EBADF),
        // Descriptors that do not count what they hold: one thing is there.
        Err(_) => 1,
    };
    Ok(Measure { data, eof })
}

/// For `EVFILT_WRITE`: bytes that the send buffer still takes. EBADF if the
/// descriptor is gone.
pub(super) fn writing(fd: c_int, ready: u32) -> Result<Measure, Errno> {
    let hung_up = has(ready, libc::EPOLLHUP);
    match option::<c_int>(fd, libc::SOL_SOCKET, libc::SO_SNDBUF) {
        Ok(size) => {
            let used = count(fd, libc::TIOCOUTQ).unwrap_or(0);
            // The kernel counts overhead in its own way, so that a writable
            // socket can look full: say one byte, since ready it is.
            let data = i64::from(size).saturating_sub(used.into()).max(1);
            Ok(Measure { data, eof: hung_up || sending_shut(fd) })
        }
        Err(libc::EBADF) => Err(libc::EBADF),
        // A pipe says with EPOLLERR that its readers have gone; poll(2).
        Err(_) => Ok(Measure { data: pipe_space(fd), eof: hung_up || has(ready, libc::EPOLLERR) }),
    }
}

fn has(ready: u32, bit: c_int) -> bool {
    ready & bit as u32 != 0
}

/// Connections that wait in a listener's queue, at least the one that made it
/// ready. Only TCP tells: tcpi_unacked is the queue's length on a listener.
fn backlog(fd: c_int) -> i64 {
    option::<tcp_info>(fd, libc::IPPROTO_TCP, libc::TCP_INFO).map_or(1, |info| i64::from(info.tcpi_unacked).max(1))
}

/// Whether nothing can be sent on this socket any more.
fn sending_shut(fd: c_int) -> bool {
    if let Ok(info) = option::<tcp_info>(fd, libc::IPPROTO_TCP, libc::TCP_INFO) {
        return TCP_SENDING_SHUT.contains(&info.tcpi_state);
    }
    if option(fd, libc::SOL_SOCKET, libc::SO_DOMAIN) != Ok(libc::AF_UNIX)
        || option(fd, libc::SOL_SOCKET, libc::SO_TYPE) != Ok(libc::SOCK_STREAM)
    {
        return false;
    }
    // No option tells for a Unix stream, but sending no bytes at all does, and
    // takes no pending error away.
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: no byte is read from the empty buffer; send(2).
    let sent = unsafe { libc::send(fd, c"".as_ptr().cast(), 0, flags) };
    sent < 0 && errno() == libc::EPIPE
}

/// Free bytes of a pipe; 1 for a descriptor that does not tell.
fn pipe_space(fd: c_int) -> i64 {
    // SAFETY: no pointers; fcntl(2).
    let size = unsafe { libc::fcntl(fd, libc::F_GETPIPE_SZ) };
    let used = count(fd, libc::FIONREAD).unwrap_or(0);
    i64::from(size).saturating_sub(used.into()).max(1)
}

/// An ioctl that hands an int over.
fn count(fd: c_int, request: libc::Ioctl) -> Result<c_int, Errno> {
    let mut value: c_int = 0;
    // SAFETY: FIONREAD and TIOCOUTQ write one int; FIONREAD(2const),
    // TIOCOUTQ(2const).
    match unsafe { libc::ioctl(fd, request, &mut value) } {
        0 => Ok(value),
        _ => Err(errno()),
    }
}

/// Types of socket options that are plain numbers throughout, so that any bytes
/// are a value: what makes `option` sound.
trait Plain: Copy {}
impl Plain for c_int {}
impl Plain for tcp_info {}

/// A socket option.
fn option<T: Plain>(fd: c_int, level: c_int, name: c_int) -> Result<T, Errno> {
    // Zeroed, since an older kernel may fill less of a structure in.
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes; getsockopt(2).
    let done = unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast::<c_void>(), &mut length) };
    if done < 0 {
        return Err(errno());
    }
    // SAFETY: zeroed or written by the kernel, and `T` is plain numbers.
    Ok(unsafe { value.assume_init() })
}
