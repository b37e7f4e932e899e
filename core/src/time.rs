//! Time as a value.

/// A moment: whole milliseconds since an origin of the caller's choice, on a clock that never goes back.
///
/// The core reads no clock. A caller that rounds hands over moments at which bytes moved rounded *up* and asks
/// for expiry with a moment rounded *down*; then no limit is ever cut short by a fraction of a millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The moment `ms` milliseconds after the origin.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// The end of time: a deadline that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// Milliseconds since the origin.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// The moment `ms` later; the end of time when that is nearer.
    pub const fn after(self, ms: u32) -> Self {
        Self(self.0.saturating_add(ms as u64))
    }

    /// Milliseconds from `earlier` to this moment; 0 when `earlier` is later.
    pub const fn since_ms(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
