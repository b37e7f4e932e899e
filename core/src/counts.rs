//! What the server has counted since it started.

use crate::reason::CloseReason;

/// Counts of one loop or of a whole program: plain numbers, added up over loops with [`Counts::add`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were accepted and served; refused ones are not among them.
    pub served: u64,
    /// Connections served at this moment.
    pub open: u64,
    /// The most connections that were served at one time.
    pub peak: u64,
    /// Connections told that the server is full.
    pub refused: u64,
    /// Connections closed by a limit of time: idle, line or drain. What follows the timeout of a ticket is for the
    /// protocol to say.
    pub timed_out: u64,
    /// Connections whose transport failed (a reset, an error).
    pub failed: u64,
    /// Connections lost because their protocol panicked.
    pub panicked: u64,
}

impl Counts {
    /// Nothing happened yet.
    pub const fn new() -> Self {
        Self { served: 0, open: 0, peak: 0, refused: 0, timed_out: 0, failed: 0, panicked: 0 }
    }

    /// A connection was accepted to be served.
    pub fn opened(&mut self) {
        self.served += 1;
        self.open += 1;
        self.peak = self.peak.max(self.open);
    }

    /// A connection that was served is over.
    pub fn closed(&mut self, reason: CloseReason) {
        self.open = self.open.saturating_sub(1);
        match reason {
            CloseReason::IdleTimeout | CloseReason::LineTimeout | CloseReason::DrainTimeout => self.timed_out += 1,
            CloseReason::Failed => self.failed += 1,
            CloseReason::Panicked => self.panicked += 1,
            CloseReason::Protocol
            | CloseReason::PeerEnd
            | CloseReason::Drained
            | CloseReason::Refused
            | CloseReason::NoProgress => {}
        }
    }

    /// Adds the counts of another loop.
    ///
    /// Peaks are added too: the loops need not have peaked at the same moment, so the sum is an upper bound.
    pub fn add(&mut self, other: &Counts) {
        self.served += other.served;
        self.open += other.open;
        self.peak += other.peak;
        self.refused += other.refused;
        self.timed_out += other.timed_out;
        self.failed += other.failed;
        self.panicked += other.panicked;
    }
}
