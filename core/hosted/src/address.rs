//! An address to listen on, as a person writes it: `127.0.0.1:0`, `[::1]:80`, `localhost:8080`, `:8080`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The host and port of `--listen`; a name is kept as it was written and resolved when listening starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// The part before the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Every address of this machine, IPv6 and IPv4.
    Any,
    /// One address; `[::]` takes IPv4 clients too.
    Ip(IpAddr),
    /// A host name, or an IPv6 address with a zone (`fe80::1%eth0`), which only the resolver understands.
    Name(String),
}

impl ListenAddress {
    /// Every address of this machine, IPv6 and IPv4: what a bare PORT means.
    pub const fn any(port: u16) -> Self {
        Self { host: Host::Any, port }
    }
}

/// What is wrong with the text of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// There is no colon with a port behind it.
    NoPort,
    /// What stands behind the last colon is not a port.
    BadPort,
    /// An IPv6 address without brackets: where it ends and the port begins cannot be told.
    NoBrackets,
    /// A bracket that is not closed, or something other than an IPv6 address within.
    BadBrackets,
    /// A character that no host name has.
    BadHost,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPort => "no port: write ADDR:PORT, as in 127.0.0.1:8080, or :8080 for every address",
            Self::BadPort => "the port must be a number from 0 to 65535",
            Self::NoBrackets => "an IPv6 address needs brackets, as in [::1]:8080",
            Self::BadBrackets => "brackets hold an IPv6 address and a port follows, as in [::1]:8080",
            Self::BadHost => "not the name or address of a host",
        })
    }
}

impl std::error::Error for AddressError {}

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(inner) = text.strip_prefix('[') {
            let (host, rest) = inner.split_once(']').ok_or(AddressError::BadBrackets)?;
            let host = bracketed(host)?;
            let digits = match rest.strip_prefix(':') {
                Some(digits) => digits,
                None if rest.is_empty() => return Err(AddressError::NoPort),
                None => return Err(AddressError::BadBrackets),
            };
            return Ok(Self { host, port: parse_port(digits)? });
        }
        let (host, digits) = text.rsplit_once(':').ok_or(AddressError::NoPort)?;
        if host.contains(':') {
            return Err(AddressError::NoBrackets);
        }
        let port = parse_port(digits)?;
        if host.is_empty() || host == "*" {
            return Ok(Self::any(port));
        }
        if let Ok(address) = host.parse() {
            return Ok(Self { host: Host::Ip(address), port });
        }
        Ok(Self { host: Host::Name(name(host)?), port })
    }
}

/// The inside of the brackets: an IPv6 address, with a zone or without.
fn bracketed(host: &str) -> Result<Host, AddressError> {
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Ok(Host::Ip(IpAddr::V6(address)));
    }
    let (address, zone) = host.split_once('%').ok_or(AddressError::BadBrackets)?;
    if address.parse::<Ipv6Addr>().is_err() || zone.is_empty() {
        return Err(AddressError::BadBrackets);
    }
    Ok(Host::Name(name(host)?))
}

/// Digits only: the parser of numbers would take `+80` as well.
pub(crate) fn parse_port(digits: &str) -> Result<u16, AddressError> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::BadPort);
    }
    digits.parse().map_err(|_| AddressError::BadPort)
}

/// Refuses what cannot be a name, so that it neither confuses the resolver nor spoils a line that repeats it.
fn name(host: &str) -> Result<String, AddressError> {
    if host.chars().any(|c| c.is_control() || c.is_whitespace() || "/[]@".contains(c)) {
        return Err(AddressError::BadHost);
    }
    Ok(host.to_owned())
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Any => write!(f, "[::]:{}", self.port),
            Host::Ip(address) => SocketAddr::new(*address, self.port).fmt(f),
            Host::Name(name) if name.contains(':') => write!(f, "[{name}]:{}", self.port),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_understood_and_shown_again() {
        for (text, shown) in [
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:80", "[::1]:80"),
            ("[0:0::1]:80", "[::1]:80"),
            ("localhost:8080", "localhost:8080"),
            ("my-host.example.:65535", "my-host.example.:65535"),
            (":8080", "[::]:8080"),
            ("*:8080", "[::]:8080"),
            ("[::]:8080", "[::]:8080"),
            ("0.0.0.0:00080", "0.0.0.0:80"),
            ("[fe80::1%eth0]:80", "[fe80::1%eth0]:80"),
        ] {
            assert_eq!(text.parse::<ListenAddress>().map(|a| a.to_string()).as_deref(), Ok(shown), "{text}");
        }
    }

    #[test]
    fn any_is_not_the_ipv6_address_of_the_same_look() {
        assert_eq!(":80".parse(), Ok(ListenAddress::any(80)));
        let explicit = "[::]:80".parse::<ListenAddress>().unwrap();
        assert_eq!(explicit.host, Host::Ip("::".parse().unwrap()));
    }

    #[test]
    fn each_mistake_has_its_own_answer() {
        use AddressError::*;
        for (text, error) in [
            ("", NoPort),
            ("8080", NoPort),
            ("localhost", NoPort),
            ("[::1]", NoPort),
            ("localhost:", BadPort),
            (":", BadPort),
            ("localhost:http", BadPort),
            ("localhost:+80", BadPort),
            ("localhost:-1", BadPort),
            ("localhost:65536", BadPort),
            ("localhost: 80", BadPort),
            ("[::1]:", BadPort),
            ("::1:80", NoBrackets),
            ("::", NoBrackets),
            ("http://localhost:80", NoBrackets),
            ("[::1", BadBrackets),
            ("[::1]80", BadBrackets),
            ("[]:80", BadBrackets),
            ("[127.0.0.1]:80", BadBrackets),
            ("[localhost]:80", BadBrackets),
            ("[fe80::1%]:80", BadBrackets),
            ("[fe80::1%e h]:80", BadHost),
            ("local host:80", BadHost),
            ("a\nb:80", BadHost),
            ("a/b:80", BadHost),
        ] {
            assert_eq!(text.parse::<ListenAddress>(), Err(error), "{text:?}");
        }
    }
}
