//! Limits of time, as they are unless they are set.

/// Milliseconds without a byte moved after which a connection is closed, unless the caller says otherwise.
pub const IDLE_MS: u32 = 30_000;

/// Milliseconds for which what still arrives is discarded after our side was shut.
///
/// Long enough for a client on a slow path to read the last reply, short enough that a client which never
/// closes costs little.
pub const LINGER_MS: u32 = 2_000;

/// Milliseconds for the last replies of a server that shuts down, unless the caller says otherwise (rule 12).
pub const DRAIN_MS: u32 = 5_000;

// Who was answered last can still linger before the time is up.
const _: () = assert!(LINGER_MS < DRAIN_MS);

/// Limits of time of one connection, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the last byte that moved, either way, to the close; while output is pending only sent bytes count.
    /// 0 is no limit.
    pub idle_ms: u32,
    /// From the first byte of a line to its end; 0 is no limit.
    pub line_ms: u32,
    /// From the shut of our sending side to the close, whatever the peer does.
    pub linger_ms: u32,
}

impl Limits {
    /// 30 seconds idle, no limit for a line, 2 seconds of lingering.
    pub const fn new() -> Self {
        Self { idle_ms: IDLE_MS, line_ms: 0, linger_ms: LINGER_MS }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}
