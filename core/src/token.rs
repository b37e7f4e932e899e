//! Names of connections and of deferred answers.

/// Names one connection for as long as the table exists: a slot and how often it was used.
///
/// An event, a completion or a push that carries the token of a closed connection finds nothing, also when its
/// slot was taken again (rule 11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Token {
    /// The token as one number, to be stored as the user data of an operating system's event.
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The token that [`Token::to_bits`] made the number from.
    pub const fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// Stands for an answer that comes from elsewhere: a thread pool, a database, another connection.
///
/// Made by [`Reply::ticket`](crate::Reply::ticket), returned as [`Next::Later`](crate::Next::Later), given to
/// whoever does the work, and honoured once by [`Connection::complete`](crate::Connection::complete).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(crate) token: Token,
    pub(crate) serial: u32,
    pub(crate) timeout_ms: u32,
}

impl Ticket {
    /// The connection that waits for the answer.
    pub const fn token(&self) -> Token {
        self.token
    }
}

/// The answer came after the ticket's timeout, after the connection's end, or a second time; it was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late;

impl core::fmt::Display for Late {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("nobody waits for this answer any more")
    }
}

impl core::error::Error for Late {}
