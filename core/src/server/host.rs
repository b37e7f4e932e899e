//! What a server needs from the system it runs on.

use core::borrow::BorrowMut;

use super::complaints::Complaint;
use crate::buffers::{BUFFER_BYTES, Buffers};
use crate::drive::Transport;
use crate::protocol::Protocol;
use crate::token::Token;
use crate::wants::Interest;

/// The system under a [`Server`](super::Server): sockets, a poller, buffers and the maker of protocols.
///
/// An event loop implements it over its system calls, the simulation over a script.
pub trait Host<const N: usize = BUFFER_BYTES> {
    /// A connected socket. Dropping it closes it.
    type Socket: Transport;
    /// The address of a client, for whoever makes its protocol.
    type Peer;
    /// What is spoken.
    type Protocol: Protocol;
    /// A pair of buffers, owned or borrowed.
    type Buffers: BorrowMut<Buffers<N>>;

    /// Accepts one client of a listener: non-blocking, close-on-exec.
    fn accept(&mut self, listener: usize) -> Accept<Self::Socket, Self::Peer>;

    /// The protocol for a new client; `None` when it could not be made (it panicked), which drops the client.
    fn protocol(&mut self, peer: &Self::Peer) -> Option<Self::Protocol>;

    /// Counts a client in, unless `limit` are served already; `open` is how many this server serves.
    ///
    /// For servers that share a limit: the host of each counts for all of them.
    fn enter(&mut self, limit: Option<u32>, open: u64) -> bool {
        limit.is_none_or(|limit| open < u64::from(limit))
    }

    /// A client that was counted in has left.
    fn leave(&mut self) {}

    /// This server's share of a bound of `n` that several servers hold together.
    fn share(&self, n: u32) -> u32 {
        n
    }

    /// Begins to watch a socket; its events carry `token`. `false` drops the client.
    ///
    /// In edge-triggered mode the interest does not matter: both directions are watched from the start.
    fn watch(&mut self, socket: &Self::Socket, token: Token, interest: Interest) -> bool;

    /// Changes what is watched for. Called only for a change, and never in edge-triggered mode.
    fn rewatch(&mut self, socket: &Self::Socket, token: Token, interest: Interest) -> bool;

    /// Ends the watch, before the socket is closed (rule 11).
    fn unwatch(&mut self, socket: &Self::Socket, token: Token);

    /// Begins or ends the watch of all listeners, by level in every mode: whoever waited before the watch began is an
    /// event too.
    fn watch_listeners(&mut self, on: bool);

    /// Whether the listeners are watched as [`watch_listeners`](Self::watch_listeners) last said. Where the system
    /// refused that, accepting rests and it is tried again.
    fn listens(&self) -> bool {
        true
    }

    /// A pair of buffers, if there is one.
    fn take_buffers(&mut self) -> Option<Self::Buffers>;

    /// A pair of buffers comes back. What was used last is best given out first: it is in the cache.
    fn return_buffers(&mut self, buffers: Self::Buffers);

    /// Runs `work`, which calls the protocol; `None` when it panicked.
    fn guard<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        Some(work())
    }

    /// Something that a person should know; called at most once a minute for each kind.
    fn complain(&mut self, complaint: Complaint) {
        let _ = complaint;
    }
}

/// How accepting a client turned out.
#[derive(Debug)]
pub enum Accept<Socket, Peer> {
    /// A client.
    Client(Socket, Peer),
    /// Nobody waits.
    WouldBlock,
    /// A signal came first.
    Interrupted,
    /// The one that waited is gone (ECONNABORTED, EPROTO, a pending error of the network).
    Dropped,
    /// Descriptors or memory ran out (EMFILE, ENFILE, ENOBUFS, ENOMEM), or the listener is out of order.
    Exhausted,
}
