//! Listening sockets, opened as every shell wants them.
//!
//! Through socket2, since std's own `TcpListener::bind` chooses a backlog of 128 and leaves IPV6_V6ONLY as the
//! system has it. Each socket is close-on-exec and non-blocking, has SO_REUSEADDR (on Unix, to start again at once
//! on the same port; on Windows that option means to steal a port that is taken) and TCP_NODELAY, which Linux and
//! the BSDs hand on to the connections it accepts.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use socket2::{SockRef, Socket};

use crate::address::ListenAddress;
use crate::cli::{CommonArgs, DEFAULT_BACKLOG, LoopArgs};
use crate::reason::reason;

mod resolve;
mod socket;

use resolve::{Place, places};
use socket::System;

/// How often a free port is sought that both IPv6 and IPv4 can have, where one socket cannot serve both.
const PORT_TRIES: u32 = 16;

/// How to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    /// Clients that may wait to be accepted; the kernel silently caps it at its own maximum (listen(2)).
    pub backlog: u32,
    /// Whether `accept` waits: for a loop of your own. The shells make it not wait.
    pub blocking: bool,
    /// Whether more sockets may share the port by [`Listening::another`]: for a shell with several loops.
    ///
    /// A port on which someone else listens is still refused, even if they share theirs.
    pub reuse_port: bool,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self { backlog: DEFAULT_BACKLOG, blocking: false, reuse_port: false }
    }
}

/// A socket that listens, and where.
#[derive(Debug)]
pub struct Listening {
    /// The socket.
    pub listener: TcpListener,
    /// Its address, with the port that the system chose where 0 was asked for.
    pub address: SocketAddr,
    options: ListenOptions,
}

impl Listening {
    /// Takes a listener that was opened elsewhere (by a test, a service manager), and makes it block or not as the
    /// options say. It keeps its backlog; `reuse_port` must say what is so.
    ///
    /// # Errors
    ///
    /// What the system says if it is not a socket that is bound.
    pub fn from_std(listener: TcpListener, options: &ListenOptions) -> io::Result<Self> {
        listener.set_nonblocking(!options.blocking)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, options: *options })
    }

    /// Has `accept` never wait from now on, here and on sockets that [`another`](Self::another) opens.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn never_wait(&mut self) -> io::Result<()> {
        self.options.blocking = false;
        self.listener.set_nonblocking(true)
    }

    /// One more socket on the same address, for one more loop; the kernel spreads clients over them.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this one was not opened with [`ListenOptions::reuse_port`], or where the system has no
    /// SO_REUSEPORT; else what the system says.
    pub fn another(&self) -> io::Result<Listening> {
        if !self.options.reuse_port {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let socket = socket::stream(self.address)?;
        if self.address.is_ipv6() {
            socket.set_only_v6(SockRef::from(&self.listener).only_v6()?)?;
        }
        let listener = socket::listen_with(socket, self.address, &self.options, true)?;
        Ok(Listening { listener, address: self.address, options: self.options })
    }
}

/// Why nothing listens: displays as `cannot listen on [::]:8080: Address already in use`.
#[derive(Debug)]
pub struct ListenError {
    place: String,
    error: io::Error,
}

impl ListenError {
    fn new(place: impl fmt::Display, error: io::Error) -> Self {
        Self { place: place.to_string(), error }
    }

    /// What the system or the resolver said.
    pub fn io_error(&self) -> &io::Error {
        &self.error
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {}: {}", self.place, reason(&self.error))
    }
}

impl std::error::Error for ListenError {}

/// Listens where the command line says, for a loop that must not block: non-blocking, the port not shared.
///
/// # Errors
///
/// The first address at which it is not possible; sockets that are open already are closed.
pub fn listen_all(args: &CommonArgs) -> Result<Vec<Listening>, ListenError> {
    listen(&args.addresses(), &ListenOptions { backlog: args.backlog, ..ListenOptions::default() })
}

/// [`listen_all`] for a shell that may have several loops: with more than one the port is shared.
///
/// # Errors
///
/// Those of [`listen_all`].
pub fn listen_for_loops(args: &CommonArgs, loops: &LoopArgs) -> Result<Vec<Listening>, ListenError> {
    let options =
        ListenOptions { backlog: args.backlog, reuse_port: loops.threads > 1, ..ListenOptions::default() };
    listen(&args.addresses(), &options)
}

/// Listens at each of these addresses.
///
/// A host name stands for all its addresses; those that this machine does not have (IPv6, where it is
/// switched off) are left out if another works. An address that comes twice is listened on once, but each port 0
/// gives a port of its own. `[::]` takes IPv4 clients too, unless `0.0.0.0` with the same port is asked for beside
/// it; where one socket cannot do both (OpenBSD), there are two. [`ListenAddress::any`] is `[::]`, or
/// `0.0.0.0` where there is no IPv6.
///
/// # Errors
///
/// The first address at which it is not possible; sockets that are open already are closed.
pub fn listen(addresses: &[ListenAddress], options: &ListenOptions) -> Result<Vec<Listening>, ListenError> {
    listen_on(addresses, options, &System::REAL)
}

fn listen_on(
    addresses: &[ListenAddress],
    options: &ListenOptions,
    system: &System,
) -> Result<Vec<Listening>, ListenError> {
    let places = places(addresses)?;
    let ipv4_apart: Vec<u16> = places
        .iter()
        .flat_map(|place| place.addresses())
        .filter(|address| address.ip() == Ipv4Addr::UNSPECIFIED && address.port() != 0)
        .map(SocketAddr::port)
        .collect();
    let mut listening = Vec::new();
    for place in &places {
        listening.extend(match place {
            Place::Any(port) => any(*port, ipv4_apart.contains(port), true, options, system)?,
            Place::Host(addresses) => host(addresses, &ipv4_apart, options, system)?,
        });
    }
    Ok(listening)
}

/// Listens at the addresses of one host; those that this machine does not have may be missing if one works.
fn host(
    addresses: &[SocketAddr],
    ipv4_apart: &[u16],
    options: &ListenOptions,
    system: &System,
) -> Result<Vec<Listening>, ListenError> {
    let mut listening = Vec::new();
    let mut missing = None;
    for address in addresses {
        let opened = if address.ip() == Ipv6Addr::UNSPECIFIED {
            any(address.port(), ipv4_apart.contains(&address.port()), false, options, system)
        } else {
            exactly(*address, options, system).map(|one| vec![one])
        };
        match opened {
            Ok(opened) => listening.extend(opened),
            Err(error) if socket::is_no_such_address(&error.error) => missing = missing.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match missing {
        Some(error) if listening.is_empty() => Err(error),
        _ => Ok(listening),
    }
}

/// Listens at one address.
fn exactly(address: SocketAddr, options: &ListenOptions, system: &System) -> Result<Listening, ListenError> {
    let open = || {
        let socket = (system.stream)(address)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        finish(socket, address, options)
    };
    open().map_err(|error| ListenError::new(address, error))
}

/// Listens at every address of this machine: one socket for IPv6 and IPv4, or two where that must be.
///
/// `ipv4_apart`: a socket for `0.0.0.0` at this port is asked for on its own, so this one is for IPv6 alone.
/// `fall_back`: IPv4 alone will do where there is no IPv6.
fn any(
    port: u16,
    ipv4_apart: bool,
    fall_back: bool,
    options: &ListenOptions,
    system: &System,
) -> Result<Vec<Listening>, ListenError> {
    let ipv6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let open_ipv6 = || {
        let socket = (system.stream)(ipv6)?;
        if ipv4_apart {
            socket.set_only_v6(true)?;
            return Ok((finish(socket, ipv6, options)?, true));
        }
        let dual = (system.dual_stack)(&socket).is_ok();
        Ok((finish(socket, ipv6, options)?, dual))
    };
    let mut tries = PORT_TRIES;
    loop {
        let (first, complete) = match open_ipv6() {
            Ok(opened) => opened,
            Err(error) if fall_back && socket::is_no_such_address(&error) => {
                let alone = (!ipv4_apart).then(|| exactly(ipv4, options, system));
                return alone.into_iter().collect();
            }
            Err(error) => return Err(ListenError::new(ipv6, error)),
        };
        if complete {
            return Ok(vec![first]);
        }
        tries -= 1;
        match exactly(SocketAddr::new(ipv4.ip(), first.address.port()), options, system) {
            Ok(second) => return Ok(vec![first, second]),
            Err(error) if socket::is_no_such_address(&error.error) => return Ok(vec![first]),
            // The free port that IPv6 got is taken on IPv4: another one may be free on both.
            Err(error) if port == 0 && tries > 0 && error.error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
}

/// Binds and listens, and notes where.
fn finish(socket: Socket, address: SocketAddr, options: &ListenOptions) -> io::Result<Listening> {
    let listener = socket::listen_with(socket, address, options, false)?;
    let address = listener.local_addr()?;
    Ok(Listening { listener, address, options: *options })
}

#[cfg(test)]
mod tests;
