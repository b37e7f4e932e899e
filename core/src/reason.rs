//! Why a connection ended.

/// Why a connection ended: what the peer, the clock or the protocol did. Errors of the transport carry no
/// detail; the driver that saw them has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The protocol said [`Next::Close`](crate::Next::Close).
    Protocol,
    /// The peer ended its stream and got every reply.
    PeerEnd,
    /// No byte moved for the idle limit, or the peer did not take pending output for so long.
    IdleTimeout,
    /// A line was not complete within its limit.
    LineTimeout,
    /// The server shuts down and this connection was answered.
    Drained,
    /// The server shut down and this connection was not done in time.
    DrainTimeout,
    /// The server was full; the client was told.
    Refused,
    /// The transport is gone: a reset or an error.
    Failed,
    /// The protocol asked for a step that could never end; see [`Protocol`](crate::Protocol).
    NoProgress,
    /// The protocol panicked; it is not called again.
    Panicked,
}

impl CloseReason {
    /// Whether a limit of time closed the connection.
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::IdleTimeout | Self::LineTimeout | Self::DrainTimeout)
    }
}
