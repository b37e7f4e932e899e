//! The one timer of a loop.

use evserver_core::Time;

/// The nearest deadline, which limits how long the loop's next wait takes.
///
/// EVFILT_TIMER would cost a change each time that the deadline moves and an event when it fires, and the units of
/// its time differ from system to system. The timeout of kevent(2) is a `timespec` everywhere and comes with the call
/// that is made anyway.
pub struct Timer {
    deadline: Option<Time>,
}

impl Timer {
    /// A timer that is not armed.
    pub fn new() -> Self {
        Self { deadline: None }
    }

    /// Makes sure that the loop wakes at `deadline` at the latest.
    pub fn arm(&mut self, deadline: Option<Time>) {
        self.deadline = deadline;
    }

    /// How long a wait that begins `now` may take, in milliseconds; `None` is for ever.
    ///
    /// `now` is rounded down, so this is up to a millisecond longer than what is left and never shorter: the loop
    /// does not wake before the deadline only to wait again.
    pub fn left_ms(&self, now: Time) -> Option<u64> {
        self.deadline.map(|deadline| deadline.as_ms().saturating_sub(now.as_ms()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_whole_milliseconds_and_never_negative() {
        let mut timer = Timer::new();
        assert_eq!(timer.left_ms(Time::from_ms(5)), None);
        timer.arm(Some(Time::from_ms(30_000)));
        for (now, left) in [(0, 30_000), (29_999, 1), (30_000, 0), (40_000, 0)] {
            assert_eq!(timer.left_ms(Time::from_ms(now)), Some(left), "{now}");
        }
        timer.arm(None);
        assert_eq!(timer.left_ms(Time::from_ms(0)), None);
    }
}
