//! What all threads of a server share.

use std::io;
use std::sync::Arc;

use evserver_core::{Protocol, Settings};
use evserver_hosted::Job;

use crate::common::{Common, Phase};
use crate::entry::{Entry, Watch};
use crate::porch::Porch;
use crate::registry::Registry;

/// The common part, the connections, and the porch.
pub struct Shared<P> {
    pub common: Common,
    pub registry: Registry<P>,
    pub porch: Porch<P>,
}

impl<P: Protocol> Shared<P> {
    /// For a server that begins now.
    ///
    /// # Errors
    /// Those of making the bells.
    pub fn new(settings: &Settings) -> io::Result<Self> {
        Ok(Self { common: Common::new(settings)?, registry: Registry::new(), porch: Porch::new()? })
    }

    /// Does what another thread wants of a connection.
    pub fn work(&self, job: Job<P>) {
        if let Job::Push(token, bytes, outcome) = job {
            let entry = self.registry.get(token);
            let taken = entry.is_some_and(|entry| {
                let (taken, watch) = entry.push(&self.common, &bytes);
                self.see_to(entry, watch);
                taken
            });
            if let Some(outcome) = outcome {
                outcome(taken);
            }
        } else if let Job::Complete(ticket, answer) = job {
            // Of one that has gone nobody waits for the answer.
            if let Some(entry) = self.registry.get(ticket.token()) {
                let watch = entry.complete(&self.common, ticket, answer);
                self.see_to(entry, watch);
            }
        }
        // What several loops of a server tell each other is not for threads.
    }

    fn see_to(&self, entry: Arc<Entry<P>>, watch: Option<Watch>) {
        if let Some(watch) = watch {
            self.porch.watch(entry, watch);
        }
    }

    /// Ends everything that is left, without waiting for it.
    pub fn end(&self) {
        self.common.enter(Phase::Over);
        self.porch.wake();
        self.rouse();
    }

    /// Wakes the threads that wait for answers, so that they see how far the server has come.
    pub fn rouse(&self) {
        self.registry.all().iter().for_each(|entry| entry.rouse());
    }
}
