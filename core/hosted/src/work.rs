//! Threads for work that must not run in a loop: it blocks, or it takes long.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use evserver_core::Ticket;

use crate::handle::Handle;

/// A fixed number of threads that do work for connections: disk, a database, a slow hash.
///
/// A protocol makes a ticket, hands in its work with [`submit`](Self::submit), keeps the [`Submitted`] that it gets and
/// returns `Next::Later`. When the work is done, its result is stored in the protocol on the loop's thread, and the
/// protocol's `completed` is called.
///
/// # Bounds
///
/// Work runs in the order in which it was handed in, as much at a time as there are threads. A connection that waits for
/// an answer takes no further line, so each connection has at most one piece of work in the queue, and that piece leaves
/// with it: when the [`Submitted`] is dropped, because the connection ended or its ticket timed out, the work is
/// withdrawn. So the queue is never longer than there are connections, there is no moment at which work is refused or
/// lost, and clients that come and go leave nothing behind. Who finds all threads busy waits, and so does its peer.
///
/// # Panics in work
///
/// A panic ends the work, not the thread: the answer is [`WorkPanicked`].
///
/// # The end
///
/// Dropping the pool drops what is queued (those tickets time out), waits for what is running, and ends the threads.
///
/// ```
/// use std::sync::Arc;
///
/// use evserver_core::{Next, Protocol, Reply};
/// use evserver_hosted::{Handle, Submitted, WorkPanicked, WorkPool};
///
/// /// Answers a line, which names a file, with the file's length.
/// struct Length {
///     pool: Arc<WorkPool>,
///     handle: Handle<Self>,
///     work: Option<Submitted>,
///     answer: String,
/// }
///
/// impl Protocol for Length {
///     fn room(&self, _: usize) -> usize {
///         32
///     }
///
///     fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
///         let path = String::from_utf8_lossy(line).into_owned();
///         let ticket = reply.ticket(10_000);
///         let work = move || std::fs::metadata(path).map(|file| file.len());
///         let answer = |length: &mut Self, result: Result<std::io::Result<u64>, WorkPanicked>| {
///             length.answer = match result {
///                 Ok(Ok(bytes)) => format!("{bytes}\n"),
///                 Ok(Err(_)) | Err(WorkPanicked) => "?\n".to_owned(),
///             };
///         };
///         self.work = Some(self.pool.submit(&self.handle, ticket, work, answer));
///         Next::Later(ticket)
///     }
///
///     fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
///         reply.put(self.answer.as_bytes()).map_or(Next::Close, |()| Next::Line)
///     }
/// }
/// ```
#[derive(Debug)]
pub struct WorkPool {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

/// The work panicked; what it said is on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPanicked;

impl fmt::Display for WorkPanicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the work panicked")
    }
}

impl std::error::Error for WorkPanicked {}

/// Work that was handed in. Dropping this withdraws it, unless it was begun: then its answer comes, and is refused if
/// nobody waits for it any more.
#[derive(Debug)]
#[must_use = "dropping this withdraws the work"]
pub struct Submitted {
    queue: Arc<Queue>,
    number: u64,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    /// There is work, or the pool closes.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What was not begun. In order of its numbers, which is that of handing it in; any of it can be withdrawn.
    waiting: BTreeMap<u64, Work>,
    next_number: u64,
    closing: bool,
}

/// Does the work and hands over its answer; does not panic.
type Work = Box<dyn FnOnce() + Send>;

impl WorkPool {
    /// A pool of so many threads.
    ///
    /// # Errors
    ///
    /// When the system does not give a thread; those that it gave are ended again.
    pub fn new(threads: NonZeroUsize) -> io::Result<Self> {
        let mut pool = Self { queue: Arc::default(), threads: Vec::with_capacity(threads.get()) };
        for number in 1..=threads.get() {
            let queue = Arc::clone(&pool.queue);
            let thread = thread::Builder::new().name(format!("work {number}")).spawn(move || queue.work())?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Has `work` done on a thread of the pool, for the connection of `ticket` on the loop of `handle`. Then `answer`
    /// stores the result in its protocol, on the loop's thread; not when the ticket has timed out or the connection has
    /// ended by then.
    ///
    /// Never blocks and never refuses.
    pub fn submit<P, A>(
        &self,
        handle: &Handle<P>,
        ticket: Ticket,
        work: impl FnOnce() -> A + Send + 'static,
        answer: impl FnOnce(&mut P, Result<A, WorkPanicked>) + Send + 'static,
    ) -> Submitted
    where
        P: 'static,
        A: Send + 'static,
    {
        let handle = handle.clone();
        let work = Box::new(move || {
            // What a panic left half done is lost with the closure that owned it.
            let result = catch_unwind(AssertUnwindSafe(work)).map_err(|_| WorkPanicked);
            handle.complete(ticket, move |protocol| answer(protocol, result));
        });
        let number = {
            let mut state = self.queue.state();
            let number = state.next_number;
            state.next_number += 1;
            state.waiting.insert(number, work);
            number
        };
        self.queue.changed.notify_one();
        Submitted { queue: Arc::clone(&self.queue), number }
    }

    /// How many pieces of work wait for a thread.
    pub fn waiting(&self) -> usize {
        self.queue.state().waiting.len()
    }
}

impl Drop for WorkPool {
    fn drop(&mut self) {
        // Dropped last, not under the lock: what it owns may be anything.
        let _dropped = {
            let mut state = self.queue.state();
            state.closing = true;
            std::mem::take(&mut state.waiting)
        };
        self.queue.changed.notify_all();
        let this = thread::current().id();
        for thread in self.threads.drain(..) {
            // Work that owned the last share of its own pool cannot wait for itself.
            if thread.thread().id() != this {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        let withdrawn = self.queue.state().waiting.remove(&self.number);
        // Not under the lock: what it owns may be anything.
        drop(withdrawn);
    }
}

impl Queue {
    /// What a thread of the pool does.
    fn work(&self) {
        loop {
            let work = {
                let mut state = self.state();
                loop {
                    if let Some((_, work)) = state.waiting.pop_first() {
                        break work;
                    }
                    if state.closing {
                        return;
                    }
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            };
            work();
        }
    }

    /// Nothing panics under this lock; if it could, the queue would be whole all the same.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("waiting", &self.waiting.len()).field("closing", &self.closing).finish()
    }
}

#[cfg(test)]
mod tests;
