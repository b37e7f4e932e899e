//! What a connection wants of its driver.

use crate::reason::CloseReason;
use crate::time::Time;

/// The readiness to watch for: one direction or none, never both (rule 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interest {
    /// Nothing: an answer or buffers must come first.
    #[default]
    None,
    /// Input can be taken.
    Read,
    /// Output is pending.
    Write,
}

/// The next thing to do with a connection's transport.
///
/// Output is to be *tried* at once: [`Interest::Write`] is for when the transport did not take it. Work that is
/// left over when a driver's budget is spent is no property of the connection; [`drive`](crate::drive()) reports it
/// as [`Turn::Again`](crate::Turn::Again).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Receive into [`Connection::receive_space`](crate::Connection::receive_space).
    Receive,
    /// Send [`Connection::transmit`](crate::Connection::transmit).
    Send,
    /// Shut the sending side, then call [`Connection::write_shut`](crate::Connection::write_shut).
    ShutdownWrite,
    /// Lend buffers: there is nowhere to receive to or to write a reply to.
    ///
    /// With [`Interest::Read`] ([`Waiting::ForInput`], [`Waiting::ForPeerEnd`]) that is for when the peer has sent, and
    /// until then a connection does best without. With [`Interest::None`] ([`Waiting::ForBuffers`]) it is for now: a
    /// greeting, an answer or a shutdown waits for nothing else.
    Lend,
    /// Nothing: an answer comes from elsewhere.
    Wait,
    /// Close the transport; the connection is over.
    Close(CloseReason),
}

/// Why a connection waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// For the peer to send.
    ForInput,
    /// For the peer to take pending output.
    ForRoom,
    /// For an answer that comes from elsewhere.
    ForAnswer,
    /// For buffers: there is work that needs no byte of the peer's.
    ForBuffers,
    /// For our sending side to be shut.
    ForShutdown,
    /// For the peer's end, after ours.
    ForPeerEnd,
    /// For nothing: it is over.
    Over,
}

/// Everything a driver has to know between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// The readiness to watch for.
    pub interest: Interest,
    /// The next thing to do.
    pub action: Action,
    /// When to call [`Connection::handle_timeout`](crate::Connection::handle_timeout) at the latest.
    pub deadline: Option<Time>,
    /// Why it waits.
    pub waiting: Waiting,
}
