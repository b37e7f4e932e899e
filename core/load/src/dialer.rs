//! Opens client sockets, from chosen addresses and ports where the kernel's own choice would run out.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_reuseaddr, set_tcp_nodelay};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use crate::failure::{Failure, Outcome};
use crate::target::Target;

/// Connections for which the kernel may well choose the ports. Its default range has 28,232 of them for one pair of
/// addresses and it looks at every second one first: once those 14,116 are taken, each further connect walks
/// through all of them, which was measured to cost 0.4 ms.
const KERNEL_CHOICE_GOOD: u64 = 10_000;

/// Connections for which it may choose where there is no other way.
const KERNEL_CHOICE_MAX: u64 = 25_000;

/// Ports that are chosen here: below them are the services, above them some are left to others.
const PORT_FIRST: u16 = 10_000;
const PORTS: u16 = 50_000;

/// Source addresses are at least so many where they are chosen here.
const ADDRESSES_MIN: u64 = 32;

/// Ports that may be taken by others before a search is given up.
const TAKEN_MAX: u32 = 5_000;

/// Opens sockets to one server.
#[derive(Debug)]
pub struct Dialer {
    target: SocketAddr,
    patience: Duration,
    /// Empty: the kernel chooses.
    sources: Vec<Ipv4Addr>,
    /// Pairs of address and port that were tried so far.
    tried: u64,
}

impl Dialer {
    /// A dialer that is good for `connections` connections.
    pub fn new(target: &Target, connections: u64) -> Outcome<Self> {
        let mut sources = target.sources.clone();
        if !sources.is_empty() && !target.address.is_ipv4() {
            return Err(Failure::Refused("chosen source addresses are for IPv4 servers only".into()));
        }
        let local = matches!(target.address.ip(), IpAddr::V4(address) if address.is_loopback());
        if sources.is_empty() && !local && connections > KERNEL_CHOICE_MAX {
            let why = format!(
                "more than {KERNEL_CHOICE_MAX} connections need source addresses: chosen by themselves for a server \
                 on 127.0.0.1, by --source for another IPv4 one"
            );
            return Err(Failure::Refused(why));
        }
        if sources.is_empty() && local && connections > KERNEL_CHOICE_GOOD {
            // One address more than needed, for ports that are taken; and several, so that runs that follow each
            // other seldom meet the TIME_WAITs of the one before.
            let count = (connections.div_ceil(u64::from(PORTS)) + 1).max(ADDRESSES_MIN);
            sources = (2..2 + count).map(|host| Ipv4Addr::from_bits(0x7f00_0000 + host as u32)).collect();
        }
        let room = sources.len() as u64 * u64::from(PORTS);
        if !sources.is_empty() && connections > room {
            let why = format!("{} source addresses are good for {room} connections", sources.len());
            return Err(Failure::Refused(why));
        }
        // Another run may just have used the first ports, so each starts elsewhere.
        let tried = fastrand::u64(0..room.max(1));
        Ok(Dialer { target: target.address, patience: target.patience, sources, tried })
    }

    /// How long to wait for what was dialled.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// A socket whose connection is under way: its first event or send tells how that went.
    pub fn dial(&mut self) -> Outcome<OwnedFd> {
        for _ in 0..TAKEN_MAX {
            let socket = self.socket()?;
            if !self.sources.is_empty() {
                match bind(&socket, &self.next_source()) {
                    Ok(()) => {}
                    Err(Errno::ADDRINUSE) => continue,
                    Err(error) => return Err(Failure::io("cannot bind a source address", error)),
                }
            }
            match connect(&socket, &self.target) {
                Ok(()) | Err(Errno::INPROGRESS) => return Ok(socket),
                // This pair of ports was in use a moment ago (TIME_WAIT).
                Err(Errno::ADDRNOTAVAIL) if !self.sources.is_empty() => continue,
                Err(error) => return Err(Failure::io(format!("cannot connect to {}", self.target), error)),
            }
        }
        Err(Failure::Refused(format!("{TAKEN_MAX} source ports in a row are taken")))
    }

    fn socket(&self) -> Outcome<OwnedFd> {
        let family = if self.target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)
            .map_err(|error| Failure::io("cannot open a socket", error))?;
        let options = set_tcp_nodelay(&socket, true).and_then(|()| {
            // So that a port whose last connection is in TIME_WAIT can be bound again.
            if self.sources.is_empty() { Ok(()) } else { set_socket_reuseaddr(&socket, true) }
        });
        options.map_err(|error| Failure::io("cannot set a socket option", error))?;
        Ok(socket)
    }

    /// Goes through the addresses first and the ports second: one address does not fill while others are empty.
    fn next_source(&mut self) -> SocketAddr {
        let count = self.sources.len() as u64;
        let address = self.sources[(self.tried % count) as usize];
        let port = PORT_FIRST + (self.tried / count % u64::from(PORTS)) as u16;
        self.tried += 1;
        SocketAddrV4::new(address, port).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Mode;
    use std::collections::HashSet;

    fn target(address: &str) -> Target {
        Target::new(address.parse().unwrap(), Mode::Echo)
    }

    #[test]
    fn a_million_sources_are_different_and_loopback() {
        let mut dialer = Dialer::new(&target("127.0.0.1:1"), 1_000_000).unwrap();
        let mut seen = HashSet::new();
        for _ in 0..1_000_000 {
            let source = dialer.next_source();
            assert!(source.ip().is_loopback() && source.ip() != Ipv4Addr::LOCALHOST);
            assert!(seen.insert(source));
        }
    }

    #[test]
    fn a_connection_comes_from_the_chosen_address() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut target = Target::new(listener.local_addr().unwrap(), Mode::Echo);
        target.sources = vec![Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::new(127, 0, 0, 3)];
        let mut dialer = Dialer::new(&target, 2).unwrap();
        let _sockets = [dialer.dial().unwrap(), dialer.dial().unwrap()];
        let mut peers = [listener.accept().unwrap().1, listener.accept().unwrap().1];
        peers.sort();
        assert_eq!(peers.map(|peer| peer.ip()), [target.sources[0], target.sources[1]]);
        assert!(peers.iter().all(|peer| (PORT_FIRST..PORT_FIRST + PORTS).contains(&peer.port())));
    }

    #[test]
    fn few_connections_are_left_to_the_kernel() {
        assert!(Dialer::new(&target("127.0.0.1:1"), 10_000).unwrap().sources.is_empty());
        assert!(!Dialer::new(&target("127.0.0.1:1"), 10_001).unwrap().sources.is_empty());
        assert!(Dialer::new(&target("[::1]:1"), 25_000).unwrap().sources.is_empty());
        assert!(Dialer::new(&target("192.0.2.1:1"), 25_000).unwrap().sources.is_empty());
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(matches!(Dialer::new(&target("[::1]:1"), 25_001), Err(Failure::Refused(_))));
        assert!(matches!(Dialer::new(&target("192.0.2.1:1"), 25_001), Err(Failure::Refused(_))));
        let mut one_source = target("127.0.0.1:1");
        one_source.sources = vec![Ipv4Addr::new(127, 0, 0, 2)];
        assert!(Dialer::new(&one_source, 50_000).is_ok());
        assert!(matches!(Dialer::new(&one_source, 50_001), Err(Failure::Refused(_))));
    }
}
