//! What the server has counted since it started.

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
    /// Connections closed by a limit of time: idle, line, ticket or drain.
    pub timed_out: u64,
    /// Connections whose transport failed (a reset, an error).
    pub failed: u64,
    /// Connections lost because their protocol panicked.
    pub panicked: u64,
}

impl Counts {
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
