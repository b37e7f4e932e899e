//! What both loops do with sockets.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_reuseaddr, set_tcp_nodelay};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, bind, getsockname,
    listen as listen_on, recv, send, socket_with,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As large as the buffers of the servers that are compared.
pub const BUFFER_BYTES: usize = 4096;

/// How long a client may fail to take its bytes before it is dropped.
const UNREAD_MAX: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Stays,
    /// It has ended, in whatever way.
    Ends,
}

/// A listening socket, and where it really listens.
pub fn listen(address: SocketAddr, backlog: i32) -> io::Result<(OwnedFd, SocketAddr)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let listener = socket_with(family, SocketType::STREAM, flags, None)?;
    set_socket_reuseaddr(&listener, true)?;
    bind(&listener, &address)?;
    listen_on(&listener, backlog)?;
    let real = getsockname(&listener)?.try_into()?;
    // As the servers do: descriptors are what limits connections.
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok((listener, real))
}

/// Accepts one connection, if one waits.
pub fn accept(listener: &OwnedFd, greeting: bool) -> io::Result<Option<OwnedFd>> {
    match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        Ok(socket) => {
            set_tcp_nodelay(&socket, true)?;
            if greeting && send(&socket, b"ready\n", SendFlags::NOSIGNAL).is_err() {
                return Ok(None);
            }
            Ok(Some(socket))
        }
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// One receive, and the same bytes back.
#[inline]
pub fn echo(socket: &OwnedFd, buffer: &mut [u8; BUFFER_BYTES]) -> Fate {
    let count = match recv(socket, &mut buffer[..], RecvFlags::empty()) {
        Ok((_, 0)) => return Fate::Ends,
        Ok((_, count)) => count,
        Err(Errno::AGAIN | Errno::INTR) => return Fate::Stays,
        Err(_) => return Fate::Ends,
    };
    match send(socket, &buffer[..count], SendFlags::NOSIGNAL) {
        Ok(sent) if sent == count => Fate::Stays,
        Ok(sent) => send_rest(socket, &buffer[sent..count]),
        Err(Errno::AGAIN | Errno::INTR) => send_rest(socket, &buffer[..count]),
        Err(_) => Fate::Ends,
    }
}

/// The client does not read as fast as it sends. Clients of a measurement do read, so this waits for it: keeping
/// what is unsent would make the loop more than bare.
#[cold]
fn send_rest(socket: &OwnedFd, mut rest: &[u8]) -> Fate {
    while !rest.is_empty() {
        match poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)], Some(&UNREAD_MAX)) {
            Ok(0) => return Fate::Ends,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Fate::Ends,
        }
        match send(socket, rest, SendFlags::NOSIGNAL) {
            Ok(sent) => rest = &rest[sent..],
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Fate::Ends,
        }
    }
    Fate::Stays
}
