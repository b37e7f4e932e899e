//! How long replies take.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Anything longer is counted as this long; a load ends as stalled before.
const LONGEST_NS: u64 = 60_000_000_000;

/// A part in a thousand: finer than two runs agree.
const DIGITS: u8 = 3;

/// Collects times.
#[derive(Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
}

/// What is reported of them, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// How many were taken.
    pub count: u64,
    /// Half took at most this long.
    pub p50: f64,
    /// 99 of 100 took at most this long.
    pub p99: f64,
    /// 999 of 1000 took at most this long.
    pub p99_9: f64,
    /// None took longer.
    pub max: f64,
}

impl Latency {
    /// Nothing yet.
    pub fn new() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are constants that fit");
        Latency { histogram }
    }

    /// `count` things took `time` each.
    pub fn record(&mut self, time: Duration, count: u64) {
        self.histogram.saturating_record_n((time.as_nanos() as u64).max(1), count);
    }

    /// The summary.
    pub fn percentiles(&self) -> Percentiles {
        let us = |ns: u64| ns as f64 / 1000.0;
        let at = |quantile| us(self.histogram.value_at_quantile(quantile));
        Percentiles {
            count: self.histogram.len(),
            p50: at(0.5),
            p99: at(0.99),
            p99_9: at(0.999),
            max: us(self.histogram.max()),
        }
    }
}

impl Default for Latency {
    fn default() -> Self {
        Latency::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_known_set() {
        let mut latency = Latency::new();
        latency.record(Duration::from_micros(10), 990);
        latency.record(Duration::from_micros(100), 9);
        latency.record(Duration::from_secs(1), 1);
        let found = latency.percentiles();
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.002;
        assert_eq!(found.count, 1000);
        assert!(near(found.p50, 10.0) && near(found.p99, 10.0), "{found:?}");
        assert!(near(found.p99_9, 100.0) && near(found.max, 1e6), "{found:?}");
    }

    #[test]
    fn a_time_beyond_all_bounds_is_still_counted() {
        let mut latency = Latency::new();
        latency.record(Duration::from_secs(1000), 1);
        latency.record(Duration::ZERO, 1);
        assert_eq!(latency.percentiles().count, 2);
    }
}
