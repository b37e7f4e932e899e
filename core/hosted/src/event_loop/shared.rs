//! What several loops share: the counts, and a limit of clients that holds for all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use evserver_core::Counts;

/// The counts of all loops.
#[derive(Debug)]
pub struct Shared {
    loops: u32,
    /// Clients served at this moment by all loops: what a limit is held against.
    open: AtomicU64,
    totals: Mutex<Totals>,
}

#[derive(Debug)]
struct Totals {
    loops: Vec<Counts>,
    /// The most clients that all loops together were seen to serve, at the end of a turn of one of them.
    peak: u64,
}

impl Shared {
    /// For so many loops.
    pub fn new(loops: usize) -> Self {
        let totals = Totals { loops: vec![Counts::new(); loops.max(1)], peak: 0 };
        let loops = u32::try_from(loops).unwrap_or(u32::MAX).max(1);
        Self { loops, open: AtomicU64::new(0), totals: Mutex::new(totals) }
    }

    /// How many loops there are.
    pub fn loops(&self) -> u32 {
        self.loops
    }

    /// Counts a client in, unless `limit` are served already.
    pub fn enter(&self, limit: Option<u32>) -> bool {
        let limit = limit.map_or(u64::MAX, u64::from);
        let one_more = |open| (open < limit).then_some(open + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// A client that was counted in has left.
    pub fn leave(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes note of a loop's counts.
    pub fn publish(&self, number: usize, counts: &Counts) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mine) = totals.loops.get_mut(number) else { return };
        *mine = *counts;
        let open: u64 = totals.loops.iter().map(|counts| counts.open).sum();
        totals.peak = totals.peak.max(open).max(counts.peak);
    }

    /// The counts of all loops together.
    pub fn counts(&self) -> Counts {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Counts::new();
        for counts in &totals.loops {
            all.add(counts);
        }
        Counts { peak: totals.peak, ..all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_for_all_loops_together() {
        let shared = Shared::new(2);
        assert!(shared.enter(Some(2)) && shared.enter(Some(2)));
        assert!(!shared.enter(Some(2)));
        shared.leave();
        assert!(shared.enter(Some(2)));
        assert!(shared.enter(None));
    }

    #[test]
    fn the_peak_is_of_all_loops_at_one_time() {
        let shared = Shared::new(2);
        shared.publish(0, &Counts { served: 5, open: 5, peak: 5, ..Counts::new() });
        shared.publish(1, &Counts { served: 3, open: 3, peak: 4, ..Counts::new() });
        shared.publish(0, &Counts { served: 5, open: 0, peak: 5, ..Counts::new() });
        shared.publish(1, &Counts { served: 9, open: 6, peak: 6, ..Counts::new() });
        assert_eq!(shared.counts(), Counts { served: 14, open: 6, peak: 8, ..Counts::new() });
    }
}
