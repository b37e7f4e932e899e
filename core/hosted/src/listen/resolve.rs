//! From what was written to socket addresses, each of them once.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use super::ListenError;
use crate::address::{Host, ListenAddress};

/// Something to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Every address of this machine, at this port.
    Any(u16),
    /// The addresses of one host; one that is written as an address has just that.
    Host(Vec<SocketAddr>),
}

impl Place {
    /// The addresses that were asked for by themselves.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        match self {
            Self::Any(_) => &[],
            Self::Host(addresses) => addresses,
        }
    }
}

/// Resolves names, and drops what comes twice. Port 0 comes twice only within one name: `--listen 127.0.0.1:0` given
/// twice asks for two ports.
pub(super) fn places(addresses: &[ListenAddress]) -> Result<Vec<Place>, ListenError> {
    let mut seen: Vec<SocketAddr> = Vec::new();
    let mut places = Vec::new();
    for address in addresses {
        let port = address.port;
        let found = match &address.host {
            Host::Any => vec![SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))],
            Host::Ip(ip) => vec![SocketAddr::new(*ip, port)],
            Host::Name(name) => resolve(name, port).map_err(|error| ListenError::new(address, error))?,
        };
        seen.retain(|earlier| earlier.port() != 0);
        let mut fresh = Vec::new();
        for candidate in found.into_iter().map(unmapped) {
            if !seen.contains(&candidate) {
                seen.push(candidate);
                fresh.push(candidate);
            }
        }
        if !fresh.is_empty() {
            places.push(if address.host == Host::Any { Place::Any(port) } else { Place::Host(fresh) });
        }
    }
    Ok(places)
}

/// Asks the resolver; a name without an address counts as an error of its own.
fn resolve(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<_> = (name, port).to_socket_addrs()?.collect();
    if found.is_empty() {
        return Err(io::Error::other("the name has no address"));
    }
    Ok(found)
}

/// Takes an IPv4 address out of the clothes of IPv6 (`::ffff:1.2.3.4`), in which no socket for IPv6 alone can have it.
fn unmapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ipv4) => SocketAddr::from((ipv4, address.port())),
            None => address,
        },
        IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Vec<Place> {
        let addresses: Vec<_> = texts.iter().map(|text| text.parse().unwrap()).collect();
        places(&addresses).unwrap()
    }

    fn host(text: &str) -> Place {
        Place::Host(vec![text.parse().unwrap()])
    }

    #[test]
    fn what_comes_twice_is_taken_once() {
        assert_eq!(of(&["127.0.0.1:80", "127.0.0.1:80"]), [host("127.0.0.1:80")]);
        assert_eq!(of(&[":80", "[::]:80", ":80"]), [Place::Any(80)]);
        assert_eq!(of(&["[::]:80", ":80"]), [host("[::]:80")]);
        assert_eq!(of(&["127.0.0.1:80", "[::ffff:127.0.0.1]:80"]), [host("127.0.0.1:80")]);
    }

    #[test]
    fn each_port_0_is_another_port() {
        let (one, other) = (host("127.0.0.1:0"), host("127.0.0.1:80"));
        let twice = ["127.0.0.1:80", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:80"];
        assert_eq!(of(&twice), [other, one.clone(), one]);
        assert_eq!(of(&[":0", ":0"]), [Place::Any(0), Place::Any(0)]);
    }

    #[test]
    fn a_name_stands_for_its_addresses_each_once() {
        let [Place::Host(found)] = &of(&["localhost:80"])[..] else { panic!("not one host") };
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 80), "{found:?}");
        let mut once = found.clone();
        once.dedup();
        assert!(!found.is_empty() && once == *found);
        // The address that the name stands for is not listened on again.
        assert_eq!(of(&["localhost:80", &found[0].to_string()]).len(), 1);
    }

    #[test]
    fn a_name_that_is_not_known_is_said_with_its_port() {
        // RFC 6761: names under "invalid" never resolve.
        let error = places(&["no-host.invalid:80".parse().unwrap()]).unwrap_err().to_string();
        let reason = error.strip_prefix("cannot listen on no-host.invalid:80: ").expect(&error);
        assert!(!reason.is_empty() && !reason.contains("lookup address information"), "{error}");
    }
}
