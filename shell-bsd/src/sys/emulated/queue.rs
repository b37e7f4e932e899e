//! A queue: its events under a lock, and the wait, which holds no lock.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::IntoRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use libc::{c_int, epoll_event};

use super::kernel::{self, Errno};
use super::sink::Sink;
use super::state::State;

/// Events taken from epoll at once. A longer event list is filled by the next
/// call.
const MAX_BATCH: usize = 1024;

/// The longest wait that one epoll_wait is asked for, milliseconds; a longer
/// one is several.
const MAX_WAIT_MS: u128 = c_int::MAX as u128;

/// What epoll_wait takes for no limit; epoll_wait(2).
const FOR_EVER: c_int = -1;

/// All queues by number.
static QUEUES: RwLock<BTreeMap<c_int, Arc<Queue>>> = RwLock::new(BTreeMap::new());

/// One queue.
pub(super) struct Queue {
    kq: c_int,
    state: Mutex<State>,
}

impl Queue {
    /// Makes a queue and returns its number.
    pub(super) fn create() -> Result<c_int, Errno> {
        let kq = kernel::epoll_create()?.into_raw_fd();
        let queue = Arc::new(Self { kq, state: Mutex::new(State::new(kq)) });
        let old = QUEUES.write().unwrap_or_else(PoisonError::into_inner).insert(kq, queue);
        // The kernel gave us the number, so a queue that had it was closed
        // behind our back, with close(2).
        if let Some(old) = old {
            old.state().close();
        }
        Ok(kq)
    }

    pub(super) fn find(kq: c_int) -> Result<Arc<Self>, Errno> {
        QUEUES.read().unwrap_or_else(PoisonError::into_inner).get(&kq).cloned().ok_or(libc::EBADF)
    }

    /// Forgets the queue with this number, if there is one. To be called before
    /// the number is closed: after that it may already be another queue's.
    pub(super) fn forget(kq: c_int) {
        let queue = QUEUES.write().unwrap_or_else(PoisonError::into_inner).remove(&kq);
        if let Some(queue) = queue {
            queue.state().close();
        }
    }

    /// The events, for changing them. EBADF if the queue was closed meanwhile.
    pub(super) fn open_state(&self) -> Result<MutexGuard<'_, State>, Errno> {
        let state = self.state();
        if state.closed { Err(libc::EBADF) } else { Ok(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is an event or the time is over, and writes the events.
    /// Without `limit` it waits for ever.
    pub(super) fn wait(&self, limit: Option<Duration>, sink: &mut Sink) -> Result<(), Errno> {
        // A limit beyond what the clock can hold is no limit.
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut batch = [const { MaybeUninit::<epoll_event>::uninit() }; MAX_BATCH];
        let room = sink.room().min(MAX_BATCH);
        loop {
            let milliseconds = deadline.map_or(FOR_EVER, milliseconds_until);
            match kernel::epoll_wait(self.kq, &mut batch[..room], milliseconds) {
                Ok(ready) => self.open_state()?.report(ready, sink),
                // No epoll any more: closed with close(2), and the number
                // perhaps used again.
                Err(libc::EBADF | libc::EINVAL) => {
                    self.forget_if_mine();
                    return Err(libc::EBADF);
                }
                // EINTR among them. A signal that is an event here does not come
                // as that: its signalfd is readable until the handler has run,
                // and epoll prefers what is ready to the interruption.
                Err(error) => return Err(error),
            }
            let over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if sink.filled() > 0 || over {
                return Ok(());
            }
        }
    }

    fn forget_if_mine(&self) {
        let mut queues = QUEUES.write().unwrap_or_else(PoisonError::into_inner);
        if queues.get(&self.kq).is_some_and(|queue| std::ptr::eq(Arc::as_ptr(queue), self)) {
            queues.remove(&self.kq);
            drop(queues);
            self.state().close();
        }
    }
}

/// The time left for epoll_wait. It rounds up: a wait that ends early would be
/// repeated with 0 until the deadline.
fn milliseconds_until(deadline: Instant) -> c_int {
    let left = deadline.saturating_duration_since(Instant::now());
    let milliseconds = left.as_nanos().div_ceil(1_000_000).min(MAX_WAIT_MS);
    milliseconds as c_int
}
