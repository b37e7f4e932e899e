//! What several loops share: the counts, and a limit of clients that holds for all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use evserver_core::Counts;

/// The counts of all loops.
#[derive(Debug)]
pub struct Shared {
    loops: u32,
    /// Clients served at this moment by all loops: what a limit is held against.
    open: AtomicU64,
    /// The most that were served at one time.
    peak: AtomicU64,
    /// What each loop has counted.
    counts: Mutex<Vec<Counts>>,
}

impl Shared {
    /// For so many loops.
    pub fn new(loops: usize) -> Self {
        let counts = Mutex::new(vec![Counts::new(); loops.max(1)]);
        let loops = u32::try_from(loops).unwrap_or(u32::MAX).max(1);
        Self { loops, open: AtomicU64::new(0), peak: AtomicU64::new(0), counts }
    }

    /// How many loops there are.
    pub fn loops(&self) -> u32 {
        self.loops
    }

    /// Counts a client in, unless `limit` are served already.
    pub fn enter(&self, limit: Option<u32>) -> bool {
        let limit = limit.map_or(u64::MAX, u64::from);
        let one_more = |open| (open < limit).then_some(open + 1);
        match self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more) {
            Ok(before) => {
                self.peak.fetch_max(before + 1, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    /// A client that was counted in has left.
    pub fn leave(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes note of a loop's counts.
    pub fn publish(&self, number: usize, counts: &Counts) {
        if let Some(its) = self.lock().get_mut(number) {
            *its = *counts;
        }
    }

    /// The counts of all loops together. The loops peak at different times, so the peak is one of its own.
    pub fn counts(&self) -> Counts {
        let mut all = Counts::new();
        for counts in self.lock().iter() {
            all.add(counts);
        }
        Counts { peak: self.peak.load(Ordering::Relaxed), ..all }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Counts>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn there_is_at_least_one_loop() {
        for (asked, loops) in [(0, 1), (1, 1), (3, 3)] {
            let shared = Shared::new(asked);
            assert_eq!(shared.loops(), loops);
            shared.publish(loops as usize - 1, &Counts { served: 1, ..Counts::new() });
            assert_eq!(shared.counts().served, 1);
        }
    }

    #[test]
    fn the_peak_is_of_all_loops_at_one_time() {
        let shared = Shared::new(2);
        shared.publish(0, &Counts { served: 5, open: 1, peak: 3, ..Counts::new() });
        shared.publish(1, &Counts { served: 3, open: 0, peak: 2, ..Counts::new() });
        for _ in 0..4 {
            assert!(shared.enter(None));
        }
        shared.leave();
        shared.leave();
        assert!(shared.enter(None));
        assert_eq!(shared.counts(), Counts { served: 8, open: 1, peak: 4, ..Counts::new() });
    }
}
