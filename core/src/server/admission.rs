//! Who is let in, and when accepting rests.

use crate::time::Time;

/// Refused clients that may linger at one time; more than these wait in the listen queue.
///
/// Each costs a slot and a descriptor for as long as two seconds, so their number is bounded.
pub const REFUSED_AT_ONCE: u32 = 64;

/// Milliseconds after which accepting is tried again although nothing was freed here: another process may have
/// freed it.
const RETRY_MS: u32 = 1000;

/// Shares of accepts in a row, each a turn's, that may bring nothing but errors before accepting rests: 4096 clients
/// that left while they waited, the largest listen queue of a system as it is installed.
const BARREN_SHARES: u32 = 4096 / super::STEPS_IN_A_TURN;

/// The gate of a server.
#[derive(Debug)]
pub(super) struct Admission {
    /// Refused clients that are still connected.
    refused: u32,
    /// How many of those there may be.
    refused_at_once: u32,
    /// Shares of accepts in a row that brought nothing but errors.
    barren: u32,
    rest: Rest,
}

/// Why accepting rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It does not.
    Not,
    /// Descriptors or memory ran out: until a connection closes, or this moment.
    Exhausted(Time),
    /// The table is full, or too many refused clients linger: until one closes.
    Full,
    /// The server shuts down.
    ForGood,
}

impl Admission {
    pub const fn new() -> Self {
        Self { refused: 0, refused_at_once: REFUSED_AT_ONCE, barren: 0, rest: Rest::Not }
    }

    pub fn is_open(&self) -> bool {
        self.rest == Rest::Not
    }

    /// A client was refused, of whom `at_once` may linger. Says whether accepting is to rest.
    pub fn refused(&mut self, at_once: u32) -> bool {
        self.refused += 1;
        self.refused_at_once = at_once;
        if self.refused >= at_once {
            self.rest = Rest::Full;
        }
        !self.is_open()
    }

    /// The table has no slot left.
    pub fn table_full(&mut self) {
        self.rest = Rest::Full;
    }

    /// A share of accepts has ended, and it brought nothing but errors, or not. Says whether the listener itself may be at fault:
    /// clients that left while they waited are no more than a listen queue holds.
    pub fn share_ended(&mut self, barren: bool) -> bool {
        self.barren = if barren { self.barren.saturating_add(1) } else { 0 };
        self.barren >= BARREN_SHARES
    }

    /// Descriptors or memory ran out.
    pub fn exhausted(&mut self, now: Time) {
        self.rest = Rest::Exhausted(now.after(RETRY_MS));
    }

    /// A client left. Says whether accepting goes on.
    pub fn left(&mut self, was_refused: bool) -> bool {
        self.refused = self.refused.saturating_sub(u32::from(was_refused));
        match self.rest {
            Rest::Exhausted(_) | Rest::Full => self.reopen(),
            Rest::Not | Rest::ForGood => false,
        }
    }

    /// When to try again at the latest.
    pub fn retry(&self) -> Option<Time> {
        match self.rest {
            Rest::Exhausted(retry) => Some(retry),
            Rest::Not | Rest::Full | Rest::ForGood => None,
        }
    }

    /// Says whether accepting goes on because its time has come.
    pub fn retry_due(&mut self, now: Time) -> bool {
        match self.rest {
            Rest::Exhausted(retry) if now >= retry => self.reopen(),
            Rest::Exhausted(_) | Rest::Not | Rest::Full | Rest::ForGood => false,
        }
    }

    /// Nobody is let in any more.
    pub fn close(&mut self) {
        self.rest = Rest::ForGood;
    }

    /// Accepting goes on, unless too many refused clients linger.
    pub fn reopen(&mut self) -> bool {
        if self.refused < self.refused_at_once {
            self.rest = Rest::Not;
        }
        self.is_open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_clients_are_bounded() {
        let mut admission = Admission::new();
        for _ in 1..REFUSED_AT_ONCE {
            assert!(!admission.refused(REFUSED_AT_ONCE));
        }
        assert!(admission.refused(REFUSED_AT_ONCE), "the last one fills the room for refused clients");
        assert!(!admission.reopen(), "a shutdown takes in no more of them either");
        assert!(!admission.left(false), "a served client that leaves makes no room for refused ones");
        assert!(admission.left(true));
        assert!(admission.is_open());
    }

    #[test]
    fn exhaustion_ends_with_a_close_or_after_a_second() {
        let mut admission = Admission::new();
        let now = Time::from_ms(5_000);
        admission.exhausted(now);
        assert_eq!(admission.retry(), Some(Time::from_ms(6_000)));
        assert!(!admission.retry_due(Time::from_ms(5_999)));
        assert!(admission.retry_due(Time::from_ms(6_000)));
        admission.exhausted(Time::from_ms(6_000));
        assert!(admission.left(false));
        admission.exhausted(Time::from_ms(65_000));
        admission.close();
        assert!(!admission.left(false) && !admission.retry_due(Time::from_ms(99_000)));
    }
}
