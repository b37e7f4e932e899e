//! Numbers that a seed decides.

/// A generator of 64-bit numbers: splitmix64, which is short and good enough to choose with.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`; 0 when that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// A number from `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// A number from 1 to `high` that is as likely to be small as to be large: half of the time at most its root.
    pub fn spread(&mut self, high: u64) -> u64 {
        let bits = u64::from(u64::BITS - high.leading_zeros());
        let most = 1u64 << self.below(bits + 1).min(62);
        self.within(1, most.clamp(1, high))
    }

    /// True `times` in a thousand.
    pub fn per_mille(&mut self, times: u64) -> bool {
        self.below(1000) < times
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A generator of its own, so that one part of the world does not depend on how often another one asks.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
