//! What an error of accept means: for one client, or for the listener.

use std::io::{self, ErrorKind};

use evserver_core::Accept;
use rustix::io::Errno;

/// How an accept of the standard library's kind turned out (rule 10).
pub fn accepted<Socket, Peer>(result: io::Result<(Socket, Peer)>) -> Accept<Socket, Peer> {
    match result {
        Ok((socket, peer)) => Accept::Client(socket, peer),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock => Accept::WouldBlock,
            ErrorKind::Interrupted => Accept::Interrupted,
            _ if is_one_clients(&error) => Accept::Dropped,
            // EMFILE, ENFILE, ENOBUFS, ENOMEM, and whatever is not known: no error is ever tried without a rest.
            _ => Accept::Exhausted,
        },
    }
}

/// Whether a client left before it was accepted, or the network has a pending error for it: accept(2), "Error handling",
/// asks to go on with the next one. EPERM comes from a firewall.
fn is_one_clients(error: &io::Error) -> bool {
    let Some(errno) = Errno::from_io_error(error) else { return false };
    #[cfg(target_os = "linux")]
    if errno == Errno::NONET {
        return true;
    }
    let theirs = [
        Errno::CONNABORTED,
        Errno::CONNRESET,
        Errno::PROTO,
        Errno::NOPROTOOPT,
        Errno::OPNOTSUPP,
        Errno::NETDOWN,
        Errno::NETUNREACH,
        Errno::HOSTDOWN,
        Errno::HOSTUNREACH,
        Errno::TIMEDOUT,
        Errno::PERM,
    ];
    theirs.contains(&errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_one_client_is_not_one_of_the_listener() {
        let outcome = |errno: Errno| accepted::<(), ()>(Err(errno.into()));
        for errno in [Errno::CONNABORTED, Errno::PROTO, Errno::HOSTUNREACH, Errno::PERM] {
            assert!(matches!(outcome(errno), Accept::Dropped), "{errno}");
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::BADF, Errno::INVAL] {
            assert!(matches!(outcome(errno), Accept::Exhausted), "{errno}");
        }
        assert!(matches!(outcome(Errno::AGAIN), Accept::WouldBlock));
        assert!(matches!(outcome(Errno::INTR), Accept::Interrupted));
        assert!(matches!(accepted(Ok((1, 2))), Accept::Client(1, 2)));
    }
}
