//! A hashed wheel for deadlines that come in no order.
//!
//! G. Varghese, T. Lauck: Hashed and hierarchical timing wheels (1987), scheme 6. A deadline hashes to the bucket
//! of its tick; a bucket is looked at when its tick has passed, and what is due in a later round stays.

use super::MOST_LATE_MS;
use super::list::List;
use crate::time::Time;

/// Milliseconds of a tick: how late a timer may be.
const TICK_MS: u64 = 64;
const _: () = assert!(TICK_MS < MOST_LATE_MS);

/// Buckets of the wheel; one round is 16 seconds.
pub(super) const BUCKETS: usize = 256;

const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = BUCKETS / WORD_BITS;
const _: () = assert!(BUCKETS.is_power_of_two() && BUCKETS.is_multiple_of(WORD_BITS));

/// The buckets, and which of them hold anything.
#[derive(Debug)]
pub(super) struct Wheel {
    buckets: [List; BUCKETS],
    filled: [u64; WORDS],
    /// Every tick before this one was looked at.
    tick: u64,
}

impl Wheel {
    pub const fn new() -> Self {
        Self { buckets: [List::EMPTY; BUCKETS], filled: [0; WORDS], tick: 0 }
    }

    /// The bucket for a deadline. One whose tick was looked at already goes to the next bucket that will be.
    pub fn bucket_of(&self, deadline: Time) -> usize {
        let tick = (deadline.as_ms() / TICK_MS).max(self.tick);
        (tick % BUCKETS as u64) as usize
    }

    /// Works on one bucket and keeps account of whether it holds anything.
    pub fn with<R>(&mut self, bucket: usize, work: impl FnOnce(&mut List) -> R) -> Option<R> {
        let list = self.buckets.get_mut(bucket)?;
        let result = work(list);
        let word = self.filled.get_mut(bucket / WORD_BITS)?;
        let bit = 1 << (bucket % WORD_BITS);
        if list.is_empty() {
            *word &= !bit;
        } else {
            *word |= bit;
        }
        Some(result)
    }

    /// The first slot of a bucket.
    pub fn head(&self, bucket: usize) -> Option<u32> {
        self.buckets.get(bucket).map(|list| list.head)
    }

    /// When the next bucket that holds anything is to be looked at: the end of its tick.
    pub fn next(&self) -> Option<Time> {
        let tick = self.next_filled()?;
        Some(Time::from_ms((tick + 1).saturating_mul(TICK_MS)))
    }

    /// The next filled bucket whose tick is over at `now`; the wheel turns there.
    pub fn turn(&mut self, now: Time) -> Option<usize> {
        let over = now.as_ms() / TICK_MS;
        match self.next_filled() {
            Some(tick) if tick < over => {
                self.tick = tick;
                Some((tick % BUCKETS as u64) as usize)
            }
            _ => {
                self.tick = self.tick.max(over);
                None
            }
        }
    }

    /// This bucket was looked at: the wheel goes on to the next one.
    pub fn advance(&mut self) {
        self.tick += 1;
    }

    /// The first tick, from the present one, whose bucket holds anything.
    #[inline]
    fn next_filled(&self) -> Option<u64> {
        // Most protocols set no timer.
        if self.filled == [0; WORDS] {
            return None;
        }
        let here = (self.tick % BUCKETS as u64) as usize;
        for step in 0..=WORDS {
            let word_at = (here / WORD_BITS + step) % WORDS;
            let mut word = *self.filled.get(word_at)?;
            let first_bit = here % WORD_BITS;
            if step == 0 {
                word &= u64::MAX << first_bit;
            } else if step == WORDS {
                word &= !(u64::MAX << first_bit);
            }
            if word != 0 {
                let bucket = word_at * WORD_BITS + word.trailing_zeros() as usize;
                let ahead = (bucket + BUCKETS - here) % BUCKETS;
                return Some(self.tick + ahead as u64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(wheel: &mut Wheel, bucket: usize) {
        wheel.with(bucket, |list| *list = List { head: 0, tail: 0 });
    }

    #[test]
    fn the_next_bucket_is_found_across_the_words_and_the_end_of_the_round() {
        for start in [0, 1, 63, 64, 200, 255] {
            for ahead in [0, 1, 62, 63, 64, 65, 130, 255] {
                let mut wheel = Wheel::new();
                wheel.turn(Time::from_ms(start * TICK_MS));
                let bucket = wheel.bucket_of(Time::from_ms((start + ahead) * TICK_MS));
                fill(&mut wheel, bucket);
                assert_eq!(wheel.next(), Some(Time::from_ms((start + ahead + 1) * TICK_MS)), "{start} + {ahead}");
                assert_eq!(wheel.turn(Time::from_ms((start + ahead + 1) * TICK_MS - 1)), None, "never early");
                assert_eq!(wheel.turn(Time::from_ms((start + ahead + 1) * TICK_MS)), Some(bucket));
            }
        }
    }

    #[test]
    fn of_two_buckets_the_nearer_one_is_next() {
        for start in [0, 1, 63, 64, 100, 200, 255] {
            for near in [0, 1, 62, 63, 64, 65, 130, 250] {
                for far in near + 1..BUCKETS as u64 {
                    let mut wheel = Wheel::new();
                    wheel.turn(Time::from_ms(start * TICK_MS));
                    for ahead in [near, far] {
                        fill(&mut wheel, ((start + ahead) % BUCKETS as u64) as usize);
                    }
                    let next = Some(Time::from_ms((start + near + 1) * TICK_MS));
                    assert_eq!(wheel.next(), next, "{start} + {near} and {far}");
                }
            }
        }
    }

    #[test]
    fn a_deadline_in_the_past_goes_where_the_wheel_looks_next() {
        let mut wheel = Wheel::new();
        wheel.turn(Time::from_ms(1000 * TICK_MS));
        assert_eq!(wheel.bucket_of(Time::from_ms(5)), 1000 % BUCKETS);
        assert_eq!(wheel.next(), None);
    }
}
