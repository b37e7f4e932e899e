//! Accepting a client, with what has to be set on its socket.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use evserver_core::Accept;
use libc::c_int;

use super::owned;

/// Accepts a client, non-blocking and close-on-exec: accept(2).
///
/// TCP_NODELAY comes from the listener on every system with kqueue, as on Linux: the new connection's flags are copied
/// from it in tcp_syncache.c (FreeBSD, DragonFly) and tcp_input.c (NetBSD, OpenBSD, macOS).
pub fn accept(listener: BorrowedFd<'_>) -> Accept<OwnedFd, SocketAddr> {
    // SAFETY: all zeroes is a valid sockaddr_storage: it has only numbers.
    let mut address: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let socket = match owned(steps::accept(listener.as_raw_fd(), &mut address, &mut length)) {
        Ok(socket) => socket,
        Err(error) => return accept_error(error.raw_os_error().unwrap_or(0)),
    };
    finish(socket, (length > 0).then_some(&address))
}

/// A client that died in the listen queue may still come out of it: on macOS its options then cannot be set (EINVAL), or
/// it has no address. That is this client's end and nobody else's.
fn finish(socket: OwnedFd, address: Option<&libc::sockaddr_storage>) -> Accept<OwnedFd, SocketAddr> {
    match (steps::prepare(&socket), address) {
        (Ok(()), Some(address)) => Accept::Client(socket, socket_address(address)),
        (Err(_), _) | (_, None) => Accept::Dropped,
    }
}

/// With accept4(2), in one.
#[cfg(not(any(target_vendor = "apple", emulated)))]
mod steps {
    use super::{OwnedFd, c_int, io};

    pub fn accept(listener: c_int, address: &mut libc::sockaddr_storage, length: &mut libc::socklen_t) -> c_int {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: accept4(2) writes at most `length` bytes of the address, and the address's true length.
        unsafe { libc::accept4(listener, (&raw mut *address).cast(), length, flags) }
    }

    pub fn prepare(_: &OwnedFd) -> io::Result<()> {
        Ok(())
    }
}

/// Without it, one by one: macOS. The emulation goes this way too, so that it is tested.
#[cfg(any(target_vendor = "apple", emulated))]
mod steps {
    use super::super::check;
    use super::{AsRawFd, OwnedFd, c_int, io};

    pub fn accept(listener: c_int, address: &mut libc::sockaddr_storage, length: &mut libc::socklen_t) -> c_int {
        // SAFETY: accept(2) writes at most `length` bytes of the address, and the address's true length.
        unsafe { libc::accept(listener, (&raw mut *address).cast(), length) }
    }

    /// Sets the flags that systems hand on from a listener in different ways, so that they are always the same.
    pub fn prepare(socket: &OwnedFd) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        // SAFETY: fcntl(2) takes no pointer for these, and the descriptor is ours. A new socket has no other flags.
        check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
        // SAFETY: as above.
        check(unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) })?;
        no_sigpipe(fd)
    }

    /// SO_NOSIGPIPE of setsockopt(2), since send(2) has no MSG_NOSIGNAL there.
    #[cfg(target_vendor = "apple")]
    fn no_sigpipe(fd: c_int) -> io::Result<()> {
        let on: c_int = 1;
        let size = size_of::<c_int>() as libc::socklen_t;
        // SAFETY: setsockopt(2) reads the one int, which lives through the call.
        let set =
            unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_NOSIGPIPE, (&raw const on).cast(), size) };
        check(set).map(drop)
    }

    #[cfg(emulated)]
    fn no_sigpipe(_: c_int) -> io::Result<()> {
        Ok(())
    }
}

/// What an errno of accept(2) means for the listener.
fn accept_error<S, P>(errno: c_int) -> Accept<S, P> {
    match errno {
        libc::EAGAIN => Accept::WouldBlock,
        libc::EINTR => Accept::Interrupted,
        // The client left before it was accepted, or the network or a firewall has an error for this one.
        libc::ECONNABORTED
        | libc::EPROTO
        | libc::ENETDOWN
        | libc::ENOPROTOOPT
        | libc::EHOSTDOWN
        | libc::EHOSTUNREACH
        | libc::EOPNOTSUPP
        | libc::ENETUNREACH
        | libc::ETIMEDOUT
        | libc::ECONNRESET
        | libc::EPERM => Accept::Dropped,
        // Linux alone has this one.
        #[cfg(emulated)]
        libc::ENONET => Accept::Dropped,
        // EMFILE, ENFILE, ENOBUFS, ENOMEM; and whatever else, so that no error is ever tried without a rest.
        _ => Accept::Exhausted,
    }
}

/// The address in the form of the standard library: ip(4), ip6(4).
fn socket_address(storage: &libc::sockaddr_storage) -> SocketAddr {
    match c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that this is a sockaddr_in, which is no larger than the storage.
            let address = unsafe { *(&raw const *storage).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr));
            SocketAddr::from((ip, u16::from_be(address.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that this is a sockaddr_in6, which is no larger than the storage.
            let address = unsafe { *(&raw const *storage).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            SocketAddr::from((ip, u16::from_be(address.sin6_port)))
        }
        _ => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn an_error_of_one_client_is_not_one_of_the_listener() {
        for errno in [libc::ECONNABORTED, libc::EPROTO, libc::ENETDOWN, libc::EHOSTUNREACH, libc::EPERM] {
            assert!(matches!(accept_error::<(), ()>(errno), Accept::Dropped), "{errno}");
        }
        for errno in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM, libc::EINVAL, libc::EBADF] {
            assert!(matches!(accept_error::<(), ()>(errno), Accept::Exhausted), "{errno}");
        }
        assert!(matches!(accept_error::<(), ()>(libc::EINTR), Accept::Interrupted));
        assert!(matches!(accept_error::<(), ()>(libc::EWOULDBLOCK), Accept::WouldBlock));
    }

    #[test]
    fn a_client_without_an_address_is_dropped_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let Accept::Client(socket, peer) = accept(listener.as_fd()) else { panic!("nobody was accepted") };
        assert_eq!(peer, client.local_addr().unwrap());
        assert!(matches!(finish(socket, None), Accept::Dropped));
    }

    #[test]
    fn an_accepted_socket_is_non_blocking_and_close_on_exec() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let Accept::Client(socket, _) = accept(listener.as_fd()) else { panic!("nobody was accepted") };
        // SAFETY: fcntl(2) takes no pointers for these.
        let (descriptor, status) = unsafe {
            (libc::fcntl(socket.as_raw_fd(), libc::F_GETFD), libc::fcntl(socket.as_raw_fd(), libc::F_GETFL))
        };
        assert_ne!(descriptor & libc::FD_CLOEXEC, 0);
        assert_ne!(status & libc::O_NONBLOCK, 0);
    }
}
