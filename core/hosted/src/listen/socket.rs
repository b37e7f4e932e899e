//! The options of one listening socket, and the few things in which systems differ.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use super::ListenOptions;

/// What differs from one system to another; tests put in what their own system does not do.
pub(super) struct System {
    /// Opens a socket for an address of this family.
    pub(super) stream: fn(SocketAddr) -> io::Result<Socket>,
    /// Makes an IPv6 socket take IPv4 clients too.
    pub(super) dual_stack: fn(&Socket) -> io::Result<()>,
}

impl System {
    /// The system that this runs on.
    pub(super) const REAL: Self = Self { stream, dual_stack: |socket| socket.set_only_v6(false) };
}

/// A TCP socket; socket2 makes it close-on-exec.
pub(super) fn stream(address: SocketAddr) -> io::Result<Socket> {
    Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
}

/// Sets the options, binds, listens. `shared`: another socket of ours already listens there.
pub(super) fn listen_with(
    socket: Socket,
    address: SocketAddr,
    options: &ListenOptions,
    shared: bool,
) -> io::Result<TcpListener> {
    if options.reuse_port {
        if !shared && address.port() != 0 {
            probe(&socket, address)?;
        }
        share_port(&socket)?;
    }
    // On Windows it would let two programs have one port; there a port is free at once after a close anyway.
    if cfg!(unix) {
        socket.set_reuse_address(true)?;
    }
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(!options.blocking)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(options.backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

/// Finds out whether someone else has the port: with SO_REUSEPORT set, another server of the same user that shares
/// its port would silently get half of our clients.
fn probe(like: &Socket, address: SocketAddr) -> io::Result<()> {
    let socket = stream(address)?;
    if address.is_ipv6() {
        socket.set_only_v6(like.only_v6()?)?;
    }
    if cfg!(unix) {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())
}

/// SO_REUSEPORT. FreeBSD's gives all clients to the newest socket; SO_REUSEPORT_LB (setsockopt(2)) spreads them.
fn share_port(socket: &Socket) -> io::Result<()> {
    #[cfg(target_os = "freebsd")]
    return socket.set_reuse_port_lb(true);
    #[cfg(all(unix, not(any(target_os = "freebsd", target_os = "solaris", target_os = "illumos"))))]
    return socket.set_reuse_port(true);
    #[cfg(any(not(unix), target_os = "solaris", target_os = "illumos"))]
    {
        let _ = socket;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Whether this machine has no such address, or no addresses of that family at all: socket(2) EAFNOSUPPORT (a
/// kernel without IPv6), EPROTONOSUPPORT (a FreeBSD jail without it), bind(2) EADDRNOTAVAIL.
pub(super) fn is_no_such_address(error: &io::Error) -> bool {
    #[cfg(unix)]
    let family = {
        use rustix::io::Errno;
        [Errno::AFNOSUPPORT.raw_os_error(), Errno::PROTONOSUPPORT.raw_os_error()]
    };
    // WSAEAFNOSUPPORT, WSAEPROTONOSUPPORT.
    #[cfg(not(unix))]
    let family = [10047, 10043];
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error().is_some_and(|code| family.contains(&code))
}
