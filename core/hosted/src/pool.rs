//! Pairs of buffers that wait for a busy connection.

use evserver_core::Buffers;

/// Pairs that are kept for the next connection; more than these go back to the allocator: 2 MiB.
const KEPT_PAIRS: usize = 256;

/// A pool of buffer pairs, last in, first out, so that a loop whose connections are busy one after the other
/// works on one pair that stays in the cache.
#[derive(Debug, Default)]
pub struct Pool {
    // Boxed, since pairs go in and out of connections, where an idle one must cost a pointer.
    pairs: Vec<Box<Buffers>>,
}

impl Pool {
    /// An empty pool.
    pub const fn new() -> Self {
        Self { pairs: Vec::new() }
    }

    /// A pair of empty buffers.
    #[inline]
    pub fn take(&mut self) -> Box<Buffers> {
        self.pairs.pop().unwrap_or_default()
    }

    /// Keeps a pair for the next connection, or frees it.
    #[inline]
    pub fn put(&mut self, pair: Box<Buffers>) {
        if self.pairs.len() < KEPT_PAIRS {
            self.pairs.push(pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pair_used_last_is_given_out_first() {
        let mut pool = Pool::new();
        let (one, two) = (pool.take(), pool.take());
        let last: *const Buffers = &*two;
        pool.put(one);
        pool.put(two);
        assert!(std::ptr::eq(&*pool.take(), last));
    }

    #[test]
    fn a_burst_of_busy_connections_is_not_kept() {
        let mut pool = Pool::new();
        let pairs: Vec<_> = (0..KEPT_PAIRS + 10).map(|_| pool.take()).collect();
        for pair in pairs {
            pool.put(pair);
        }
        assert_eq!(pool.pairs.len(), KEPT_PAIRS);
    }
}
