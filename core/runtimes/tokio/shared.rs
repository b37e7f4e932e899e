//! What all tasks share. They run on one thread, so nothing is locked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use evserver_core::{CloseReason, Counts, Limits};
use evserver_hosted::Pool;
use evserver_runtimes::Clock;
use tokio::sync::{Notify, watch};

/// How far the server's end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is not in sight.
    Serving,
    /// Connections get a last turn to receive, then they end.
    Draining,
    /// There is no time left for those that have not.
    Over,
}

/// What all tasks share.
pub struct Shared {
    pub clock: Clock,
    pub limits: Limits,
    pub pool: RefCell<Pool>,
    pub phase: watch::Sender<Phase>,
    /// A connection has left.
    pub left: Notify,
    pub counts: Cell<Counts>,
    /// Refused clients that are still connected.
    pub refused: Cell<u32>,
}

impl Shared {
    pub fn new(limits: Limits) -> Shared {
        Shared {
            clock: Clock::start(),
            limits,
            pool: RefCell::default(),
            phase: watch::Sender::new(Phase::Serving),
            left: Notify::new(),
            counts: Cell::default(),
            refused: Cell::new(0),
        }
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Whether nobody is connected.
    pub fn is_empty(&self) -> bool {
        self.counts.get().open == 0 && self.refused.get() == 0
    }
}

/// A client's place in the counts. It is left when the client's task ends, however it does.
pub struct Place {
    shared: Rc<Shared>,
    refused: bool,
    reason: CloseReason,
}

impl Place {
    /// Counts a client.
    pub fn take(shared: Rc<Shared>, refused: bool) -> Place {
        if refused {
            shared.refused.update(|refused| refused + 1);
            shared.count(|counts| counts.refused += 1);
        } else {
            shared.count(Counts::opened);
        }
        // If nobody says otherwise its protocol has panicked.
        Place { shared, refused, reason: CloseReason::Panicked }
    }

    /// Why the connection has ended.
    pub fn leave(mut self, reason: CloseReason) {
        self.reason = reason;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.refused {
            self.shared.refused.update(|refused| refused - 1);
        } else {
            self.shared.count(|counts| counts.closed(self.reason));
        }
        self.shared.left.notify_one();
    }
}
