//! What the kernel holds of a connection: bytes that the server has sent and that have not left yet, and bytes that have
//! arrived and that it has not taken yet. Only Linux tells, and only about sockets of this machine.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use crate::case::NotPassed;
use crate::client::{Client, DEADLINE};

/// The two queues of one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queues {
    /// Written by the program, not acknowledged by the peer.
    pub(crate) send_bytes: usize,
    /// Arrived, not read by the program.
    pub(crate) receive_bytes: usize,
    /// The program has closed the socket; the kernel may still be sending what was written.
    pub(crate) closed: bool,
}

/// Both ends of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) client: Queues,
    pub(crate) server: Queues,
}

/// For so long nothing must move to count as still.
const STILL: Duration = Duration::from_millis(100);

impl Ends {
    /// Looks once.
    ///
    /// # Errors
    /// Skips where the kernel does not tell; fails when the connection is gone.
    pub(crate) fn of(client: &Client) -> Result<Ends, NotPassed> {
        let (here, there) = client.addresses();
        let mut tables = String::new();
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            tables.push_str(&std::fs::read_to_string(table).unwrap_or_default());
        }
        if tables.is_empty() {
            return Err(NotPassed::skipped(
                "it looks into the kernel's queues, which only Linux shows (/proc/net/tcp)",
            ));
        }
        let find = |local: SocketAddr, remote: SocketAddr| {
            // A busy machine has thousands of lines: few are worth taking apart.
            let ports = [local, remote].map(|address| format!(":{:04X} ", address.port()));
            let mut candidates = tables.lines().filter(|line| ports.iter().all(|port| line.contains(port)));
            candidates.find_map(|line| entry(line, local, remote))
        };
        let (mine, theirs) = (find(here, there), find(there, here));
        match (mine, theirs) {
            (Some(client), Some(server)) if !server.closed => Ok(Ends { client, server }),
            (Some(_), None) if there.ip() != here.ip() => {
                Err(NotPassed::skipped("it looks into the kernel's queues, and the server is on another machine"))
            }
            (mine, theirs) => Err(client.failed(&format!(
                "the server has closed the connection; the kernel's queues here: {mine:?}, there: {theirs:?}"
            ))),
        }
    }

    /// Looks until two looks are the same: a single one may fall between the two ends of a byte's way.
    ///
    /// # Errors
    /// As [`Ends::of`].
    pub(crate) fn steady(client: &Client) -> Result<Ends, NotPassed> {
        let mut last = Ends::of(client)?;
        loop {
            let now = Ends::of(client)?;
            if now == last {
                return Ok(now);
            }
            last = now;
        }
    }

    /// Waits until nothing has moved for a moment; the client must not be sending or receiving.
    ///
    /// # Errors
    /// As [`Ends::of`], or when things keep moving.
    pub(crate) fn still(client: &Client) -> Result<Ends, NotPassed> {
        let deadline = Instant::now() + DEADLINE;
        let (mut last, mut since) = (Ends::of(client)?, Instant::now());
        while since.elapsed() < STILL {
            std::thread::sleep(STILL / 10);
            let now = Ends::of(client)?;
            if now != last {
                (last, since) = (now, Instant::now());
            }
            if Instant::now() > deadline {
                return Err(client.failed("bytes keep moving although the client neither sends nor receives"));
            }
        }
        Ok(last)
    }

    /// How many reply bytes the server has handed to the kernel that the client has not taken.
    pub(crate) fn replies_under_way(&self) -> usize {
        self.server.send_bytes + self.client.receive_bytes
    }
}

/// States of the kernel's `tcp_states.h`.
const ESTABLISHED: &str = "01";
const CLOSE_WAIT: &str = "08";

/// `sl local remote state tx:rx timer retransmit uid timeout inode …`: the queues, if the line is about this socket.
fn entry(line: &str, local: SocketAddr, remote: SocketAddr) -> Option<Queues> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let &[_, here, there, state, queues, _, _, _, _, inode, ..] = &fields[..] else { return None };
    let same =
        |a: SocketAddr, b: SocketAddr| a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical();
    if !same(address(here)?, local) || !same(address(there)?, remote) {
        return None;
    }
    let (send, receive) = queues.split_once(':')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    // Without a descriptor there is no inode; so it is before the program accepts, when the server's side has not ended.
    let closed = inode == "0" && !matches!(state, ESTABLISHED | CLOSE_WAIT);
    Some(Queues { send_bytes: number(send)?, receive_bytes: number(receive)?, closed })
}

/// `0100007F:1F90`: words of 32 bits as this machine stores them.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words: Option<Vec<[u8; 4]>> = (0..ip.len())
        .step_by(8)
        .map(|at| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes()))
        .collect();
    let bytes = words?.concat();
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn what_was_sent_and_not_taken_is_seen() {
        // Not accepted yet, and seen all the same.
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(local) else { continue };
            let client = Client::connect(listener.local_addr().unwrap()).unwrap();
            assert_eq!(Ends::of(&client).unwrap().replies_under_way(), 0);
            let (mut server, _) = listener.accept().unwrap();
            server.write_all(b"12345").unwrap();
            client.stream().write_all(b"123").unwrap();
            let ends = Ends::still(&client).unwrap();
            assert_eq!(ends.replies_under_way(), 5, "{ends:?}");
            assert_eq!(ends.server.receive_bytes, 3, "{ends:?}");
            drop(server);
            assert!(Ends::of(&client).is_err());
        }
    }

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let expected = if cfg!(target_endian = "little") { "127.0.0.1:8080" } else { "1.0.0.127:8080" };
        assert_eq!(address("0100007F:1F90").unwrap().to_string(), expected);
        assert_eq!(address("00000000000000000000000000000000:0050").unwrap().to_string(), "[::]:80");
        assert_eq!(address("local_address"), None);
    }
}
