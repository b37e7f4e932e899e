//! What all threads of a server share, whatever its protocol.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evserver_core::{Buffers, CloseReason, Limits, Settings};
use evserver_hosted::{Pool, say};

use crate::bell::Bell;
use crate::clock::Clock;
use crate::ledger::{Complaint, Ledger};

/// Clock, counts, buffers and bells.
///
/// Its two locks are leaves: each is held for a few instructions, and nothing is locked or called meanwhile.
#[derive(Debug)]
pub struct Common {
    pub clock: Clock,
    pub limits: Limits,
    /// Rung when the thread that accepts has to look at something else than its listeners.
    pub door: Bell,
    /// Rung for good when the shutdown begins. Threads that have not heard of it poll this one.
    pub drain: Bell,
    /// Rung for good when everything is to end. Threads that know of the shutdown poll this one.
    pub end: Bell,
    phase: AtomicU8,
    ledger: Mutex<Ledger>,
    /// A place is free that was waited for.
    place: Condvar,
    buffers: Mutex<Pool>,
}

/// How far a server has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It serves.
    Serving,
    /// It shuts down: what was received is answered.
    Draining,
    /// Whatever is left ends now.
    Over,
}

impl Common {
    /// For a server that begins now.
    ///
    /// # Errors
    /// Those of [`Bell::new`].
    pub fn new(settings: &Settings) -> io::Result<Self> {
        Ok(Self {
            clock: Clock::new(),
            limits: settings.limits,
            door: Bell::new()?,
            drain: Bell::new()?,
            end: Bell::new()?,
            phase: AtomicU8::new(Phase::Serving as u8),
            ledger: Mutex::new(Ledger::new(settings.max_connections)),
            place: Condvar::new(),
            buffers: Mutex::new(Pool::new()),
        })
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            serving if serving == Phase::Serving as u8 => Phase::Serving,
            draining if draining == Phase::Draining as u8 => Phase::Draining,
            _ => Phase::Over,
        }
    }

    /// Goes on to a later phase, and tells the threads that wait for sockets.
    pub fn enter(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
        self.drain.ring();
        if phase == Phase::Over {
            self.end.ring();
        }
    }

    /// The counts and the door.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A pair of empty buffers.
    pub fn take_buffers(&self) -> Box<Buffers> {
        self.pool().take()
    }

    /// A pair of buffers comes back.
    pub fn return_buffers(&self, buffers: Box<Buffers>) {
        self.pool().put(buffers);
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something that a person should know, unless it was said a moment ago.
    pub fn complain(&self, complaint: Complaint) {
        let say_it = self.ledger().may_complain(complaint, self.clock.now());
        if say_it {
            say::warn(complaint.text());
        }
    }

    /// Waits for a place for one more client, but not longer than `patience`. Says whether there is one.
    pub fn wait_for_place(&self, patience: Duration) -> bool {
        let mut ledger = self.ledger();
        ledger.want_place();
        let waited = self.place.wait_timeout_while(ledger, patience, |ledger| !ledger.has_place());
        waited.unwrap_or_else(PoisonError::into_inner).0.has_place()
    }

    /// A client that was served is over; its socket is closed next.
    pub fn ended(&self, reason: CloseReason) {
        let wanted = self.ledger().ended(reason);
        if wanted {
            self.place.notify_one();
        }
    }

    /// Somebody left, and the ledger says whether the thread that accepts has to know.
    pub fn left(&self, tell: bool) {
        if tell {
            self.door.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Instant;

    #[test]
    fn a_place_is_waited_for_until_someone_ends() {
        const LONG: Duration = Duration::from_secs(60);
        let common = Common::new(&Settings { max_connections: Some(1), ..Settings::default() }).unwrap();
        let _ = common.ledger().opened();
        assert!(!common.wait_for_place(Duration::from_millis(1)));
        let before = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                common.ended(CloseReason::PeerEnd);
            });
            assert!(common.wait_for_place(LONG));
        });
        assert!(before.elapsed() < LONG, "it was told");
    }
}
