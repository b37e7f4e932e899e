//! The clock of a server.

use std::time::{Duration, Instant};

use evserver_core::Time;

/// Milliseconds since the server began, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that begins now.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }

    /// The present moment, rounded down: to ask whether something is due.
    pub fn now(&self) -> Time {
        Time::from_ms(self.origin.elapsed().as_millis() as u64)
    }

    /// The present moment, rounded up: for what happens now, so that no limit that is counted from it is cut short.
    pub fn stamp(&self) -> Time {
        self.now().after(1)
    }

    /// How long it is until `at`; zero when that has passed.
    pub fn until(&self, at: Time) -> Duration {
        Duration::from_millis(at.as_ms()).saturating_sub(self.origin.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_has_come_when_the_wait_is_over() {
        let clock = Clock::new();
        let stamp = clock.stamp();
        assert!(clock.now() < stamp);
        std::thread::sleep(clock.until(stamp));
        assert!(clock.now() >= stamp);
        assert_eq!(clock.until(stamp), Duration::ZERO);
    }
}
