//! A bell for systems without poll(2): a flag and a condition variable. It takes a lock, so it is not for Unix signal
//! handlers; a console handler of Windows runs on a thread of its own and may take it.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// Cannot fail; the other bell can.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { rung: Mutex::new(false), changed: Condvar::new() })
    }

    pub(super) fn ring(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    pub(super) fn silence(&self) {
        *self.lock() = false;
    }

    pub(super) fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let start = Instant::now();
        let mut rung = self.lock();
        while !*rung {
            rung = match timeout {
                None => self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner),
                Some(timeout) => {
                    let left = timeout.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        return Ok(false);
                    }
                    self.changed.wait_timeout(rung, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        Ok(true)
    }

    /// A thread that panicked with the lock held cannot have left a flag half set.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
