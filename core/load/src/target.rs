//! Whom the load goes to and what is said there: what all kinds of load have in common.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::lines::{Alphabet, Lines};
use crate::script::{Mode, Script};

/// Well over what a busy machine needs, and over the second after which a lost SYN is sent again.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// A server under load.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its process, for CPU and memory; without it those figures are missing.
    pub pid: Option<u32>,
    /// How it answers.
    pub mode: Mode,
    /// Whether a plain echo greets; the numbered echo always does.
    pub greeting: bool,
    /// Bytes of a line, its LF not counted.
    pub line_bytes: usize,
    /// Which bytes occur in lines.
    pub alphabet: Alphabet,
    /// How long nothing may move on any connection before the load fails as stalled.
    pub patience: Duration,
    /// Addresses to connect from; none leaves the choice to the kernel while connections are few.
    pub sources: Vec<Ipv4Addr>,
}

impl Target {
    /// A server at `address` with 32-byte text lines and no further wishes.
    pub fn new(address: SocketAddr, mode: Mode) -> Self {
        Target {
            address,
            pid: None,
            mode,
            greeting: false,
            line_bytes: 32,
            alphabet: Alphabet::Text,
            patience: PATIENCE,
            sources: Vec::new(),
        }
    }

    /// The conversation that follows from it.
    pub(crate) fn script(&self) -> Script {
        Script::new(self.mode, self.greeting, Lines::new(self.line_bytes, self.alphabet))
    }
}
