//! How a server shuts down (rule 12).

use core::borrow::BorrowMut;

use super::{Client, Host, STEPS_IN_A_TURN, Server};
use crate::buffers::Buffers;
use crate::reason::CloseReason;
use crate::slots::Storage;
use crate::time::Time;

/// Clients accepted in the one sweep of a shutdown: more than any usual listen queue holds.
const SWEEP: u32 = 65_536;

impl<H, S, const N: usize> Server<H, S, N>
where
    H: Host<N>,
    H::Buffers: BorrowMut<Buffers<N>>,
    S: Storage<Client<H, N>>,
{
    /// Begins the shutdown (rule 12): takes in who waits in the queues of `listeners` listeners; the caller then
    /// closes those. Harmless when it has begun already.
    pub fn drain(&mut self, host: &mut H, listeners: usize, now: Time) {
        if self.drain_until.is_some() {
            return;
        }
        self.drain_until = Some(now.after(self.settings.drain_ms));
        self.admission.reopen();
        for listener in 0..listeners {
            if self.admission.is_open() {
                self.accept_some(host, listener, now, SWEEP);
            }
        }
        self.admission.close();
    }

    /// Whether a shutdown has begun.
    pub fn is_draining(&self) -> bool {
        self.drain_until.is_some()
    }

    /// Whether a shutdown is over.
    pub fn is_done(&self) -> bool {
        self.drain_until.is_some() && self.clients.is_empty()
    }

    /// Drops every client that is left, as it is: for an end at once. Each may panic while it is dropped.
    pub fn abandon(&mut self, host: &mut H) {
        while let Some(token) = self.clients.any()
            && let Some(mut client) = self.clients.remove(token)
        {
            client.leave(host, token);
            if !client.refused {
                host.leave();
            }
            let _ = host.guard(|| drop(client));
        }
    }

    /// Tells the next of those that were not told yet, or ends all when the time is up.
    pub(super) fn run_drain(&mut self, host: &mut H, now: Time) {
        let Some(until) = self.drain_until else { return };
        if now >= until {
            while let Some(token) = self.clients.any() {
                if let Some(client) = self.clients.get_mut(token) {
                    client.guarded(host, |connection| connection.abandon(CloseReason::DrainTimeout));
                }
                self.serve(host, token, now);
            }
            return;
        }
        for _ in 0..STEPS_IN_A_TURN {
            let Some(token) = self.clients.not_draining() else { return };
            if let Some(client) = self.clients.get_mut(token) {
                client.connection.drain();
                client.readiness.readable = true;
            }
            self.serve(host, token, now);
        }
    }
}
