//! What the kernel holds of a connection: bytes that the server has sent and that have not left yet, and bytes that have
//! arrived and that it has not taken yet. Only Linux tells, and only about sockets of this machine.

#[cfg(target_os = "linux")]
mod diag;

use std::net::SocketAddr;
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
        let (mine, theirs) = (of_socket(here, there)?, of_socket(there, here)?);
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

/// The queues of the socket with these two addresses; `None` when there is none.
#[cfg(target_os = "linux")]
fn of_socket(local: SocketAddr, remote: SocketAddr) -> Result<Option<Queues>, NotPassed> {
    diag::queues(local, remote)
        .map_err(|error| NotPassed::skipped(format!("it looks into the kernel's queues (sock_diag(7)): {error}")))
}

#[cfg(not(target_os = "linux"))]
fn of_socket(_: SocketAddr, _: SocketAddr) -> Result<Option<Queues>, NotPassed> {
    Err(NotPassed::skipped("it looks into the kernel's queues, which only Linux shows (sock_diag(7))"))
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
}
