//! The core's time from the standard library's clock.

use std::time::{Duration, Instant};

use evserver_core::Time;

/// A clock that shows 0 when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the clock.
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// The time, rounded down: for what is due.
    pub fn now(self) -> Time {
        Time::from_ms(self.0.elapsed().as_millis() as u64)
    }

    /// The time, rounded up: for bytes that move, so that no limit is cut short.
    pub fn stamp(self) -> Time {
        self.now().after(1)
    }

    /// When this clock will show `time`.
    pub fn instant(self, time: Time) -> Instant {
        self.0 + Duration::from_millis(time.as_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_that_has_come_is_not_shown_early() {
        let clock = Clock::start();
        let stamp = clock.stamp();
        assert!(clock.instant(stamp) > Instant::now() || clock.now() >= stamp);
        while Instant::now() < clock.instant(stamp) {
            std::thread::yield_now();
        }
        assert!(clock.now() >= stamp);
    }
}
