//! Work for a loop from other threads: pushes and answers that come later.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evserver_core::{Ticket, Token};

use crate::waker::{WakeSource, Waker};

/// A client, as the maker of its protocol sees it.
#[derive(Debug)]
pub struct Peer<P> {
    /// Where it connects from.
    pub address: SocketAddr,
    /// The way back to its connection from other threads and from other connections.
    pub handle: Handle<P>,
}

/// Reaches the connections of one loop from any thread; clones reach the same loop.
///
/// What is handed over is done by the loop between two events, in the order in which it was handed over. Nothing
/// here waits for the loop, so a protocol may use it on connections of its own loop. What is handed over when the loop
/// has ended is dropped, together with what was to be told of it, and nobody is told.
#[derive(Debug)]
pub struct Handle<P> {
    jobs: Arc<Jobs<P>>,
}

impl<P> Clone for Handle<P> {
    fn clone(&self) -> Self {
        Self { jobs: Arc::clone(&self.jobs) }
    }
}

#[derive(Debug)]
struct Jobs<P> {
    queue: Mutex<Queue<P>>,
    waker: Waker,
}

#[derive(Debug)]
struct Queue<P> {
    waiting: VecDeque<Job<P>>,
    /// The loop has ended: what was added now would wait for ever, and keep alive whatever it owns.
    closed: bool,
}

/// Something to do, with one connection or with the loop.
pub enum Job<P> {
    /// Send these bytes between two replies; say to the function whether they were taken.
    Push(Token, Arc<[u8]>, Option<Outcome>),
    /// Store the answer that a ticket stands for in the protocol; refused when nobody waits for it any more.
    Complete(Ticket, Box<dyn FnOnce(&mut P) + Send>),
    /// Do what another loop of the same server says.
    Control(Control),
}

/// What the loops of one server tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Take no new clients, answer what was received, then end.
    Drain,
    /// End now.
    StopNow,
    /// A loop has ended.
    LoopEnded,
}

/// Is told whether a push was taken whole (`true`) or refused whole (`false`).
pub type Outcome = Box<dyn FnOnce(bool) + Send>;

impl<P> std::fmt::Debug for Job<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Push(token, bytes, _) => f.debug_tuple("Push").field(token).field(&bytes.len()).finish(),
            Self::Control(control) => f.debug_tuple("Control").field(control).finish(),
            Self::Complete(ticket, _) => f.debug_tuple("Complete").field(ticket).finish(),
        }
    }
}

impl<P> Handle<P> {
    /// A handle, and what wakes the loop that it reaches.
    ///
    /// # Errors
    ///
    /// Those of [`Waker::pair`].
    pub fn pair() -> io::Result<(Self, WakeSource)> {
        let (waker, source) = Waker::pair()?;
        let queue = Mutex::new(Queue { waiting: VecDeque::new(), closed: false });
        Ok((Self { jobs: Arc::new(Jobs { queue, waker }) }, source))
    }

    /// Sends `bytes` to a connection between two of its replies. They are dropped whole when it is gone or its
    /// output has no room for them; [`push_or`](Self::push_or) says so, and the connection's protocol is told by a
    /// call of `missed` when there is room again.
    pub fn push(&self, token: Token, bytes: impl Into<Arc<[u8]>>) {
        self.add(Job::Push(token, bytes.into(), None));
    }

    /// As [`push`](Self::push), and tells `outcome`, on the loop's thread, whether they were taken.
    pub fn push_or(&self, token: Token, bytes: impl Into<Arc<[u8]>>, outcome: impl FnOnce(bool) + Send + 'static) {
        self.add(Job::Push(token, bytes.into(), Some(Box::new(outcome))));
    }

    /// Hands over the answer that `ticket` stands for: `answer` stores it in the protocol, whose `completed` is
    /// called next. Too late, or twice, it is dropped.
    pub fn complete(&self, ticket: Ticket, answer: impl FnOnce(&mut P) + Send + 'static) {
        self.add(Job::Complete(ticket, Box::new(answer)));
    }

    /// Tells the loop something of its server.
    #[cfg(unix)]
    pub(crate) fn control(&self, control: Control) {
        self.add(Job::Control(control));
    }

    /// The next thing to do, in order.
    pub fn next(&self) -> Option<Job<P>> {
        self.queue().waiting.pop_front()
    }

    /// How much there is to do.
    pub fn len(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The loop has ended: drops what there is to do, and whatever comes after it.
    pub fn close(&self) {
        let waiting = {
            let mut queue = self.queue();
            queue.closed = true;
            std::mem::take(&mut queue.waiting)
        };
        for job in waiting {
            // Not under the lock: what it owns may be anything, and may panic.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(job)));
        }
    }

    fn add(&self, job: Job<P>) {
        let mut queue = self.queue();
        if queue.closed {
            // Not under the lock: what it owns may use this handle.
            drop(queue);
            return drop(job);
        }
        queue.waiting.push_back(job);
        drop(queue);
        self.jobs.waker.wake();
    }

    /// A thread that panicked with the lock held left a whole queue all the same.
    fn queue(&self) -> MutexGuard<'_, Queue<P>> {
        self.jobs.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{TryRecvError, channel};

    #[test]
    fn what_is_handed_over_wakes_the_loop_and_comes_in_order() {
        let (handle, woken) = Handle::<()>::pair().unwrap();
        let token = Token::from_bits(7);
        handle.push(token, *b"one");
        handle.push_or(token, *b"three", |_| {});
        #[cfg(unix)]
        handle.control(Control::Drain);
        woken.wait(None).unwrap();
        let expected = [format!("Push({token:?}, 3)"), format!("Push({token:?}, 5)"), "Control(Drain)".to_owned()];
        let expected = if cfg!(unix) { &expected[..] } else { &expected[..2] };
        assert_eq!(handle.len(), expected.len());
        assert!(!handle.is_empty());
        let came: Vec<_> = std::iter::from_fn(|| handle.next()).map(|job| format!("{job:?}")).collect();
        assert_eq!(came, expected);
    }

    /// A handle in a job of its own queue would keep both alive for ever.
    #[test]
    fn nothing_waits_for_a_loop_that_has_ended() {
        let (handle, _woken) = Handle::<()>::pair().unwrap();
        let (keep, kept) = channel::<()>();
        let push = |keep| {
            let own = handle.clone();
            handle.push_or(Token::default(), *b"x", move |_| drop((own, keep)));
        };
        push(keep.clone());
        assert_eq!(kept.try_recv(), Err(TryRecvError::Empty));
        handle.close();
        push(keep);
        assert_eq!(kept.try_recv(), Err(TryRecvError::Disconnected));
        assert!(handle.is_empty() && handle.next().is_none());
        let Handle { jobs } = handle;
        assert_eq!(Arc::strong_count(&jobs), 1);
    }
}
