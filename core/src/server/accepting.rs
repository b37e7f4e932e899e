//! How clients come in.

use core::borrow::BorrowMut;

use super::admission::REFUSED_AT_ONCE;
use super::{Accept, Client, Complaint, Host, STEPS_IN_A_TURN, Server};
use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::drive::Readiness;
use crate::slots::{Full, Storage};
use crate::time::Time;

/// What a client is told when the server is full.
const FULL: &[u8] = b"server full\n";

impl<H, S, const N: usize> Server<H, S, N>
where
    H: Host<N>,
    H::Buffers: BorrowMut<Buffers<N>>,
    S: Storage<Client<H, N>>,
{
    /// A listener has clients, or may have: accepts until nobody waits or the turn's share is spent.
    ///
    /// Listeners are watched by level, so whoever still waits is an event of the next turn.
    pub fn accept(&mut self, host: &mut H, listener: usize, now: Time) {
        if self.admission.is_open() {
            self.accept_some(host, listener, now, STEPS_IN_A_TURN);
        }
    }

    /// Accepts until nobody waits, `most` came, or something says to rest.
    pub(super) fn accept_some(&mut self, host: &mut H, listener: usize, now: Time, most: u32) {
        let mut barren = true;
        for _ in 0..most {
            if !self.clients.has_room() {
                // Whoever waits for a slot waits in the listen queue.
                self.admission.table_full();
                return host.watch_listeners(false);
            }
            match host.accept(listener) {
                Accept::Client(socket, peer) => {
                    barren = false;
                    self.admit(host, socket, &peer, now);
                    if !self.admission.is_open() {
                        return;
                    }
                }
                Accept::WouldBlock => {
                    self.admission.share_ended(false);
                    return;
                }
                Accept::Interrupted | Accept::Dropped => {}
                Accept::Exhausted => return self.rest(host, now),
            }
        }
        if self.admission.share_ended(barren) {
            // Nothing but errors: the listener itself may be at fault, and it would be an event for ever.
            self.rest(host, now);
        }
    }

    /// Accepting rests for lack of descriptors or memory.
    pub(super) fn rest(&mut self, host: &mut H, now: Time) {
        if self.drain_until.is_some() {
            return;
        }
        self.admission.exhausted(now);
        self.complain(host, Complaint::AcceptExhausted, now);
        host.watch_listeners(false);
    }

    /// Takes a client in, or one that is told that there is no place, and gives it its first turn.
    fn admit(&mut self, host: &mut H, socket: H::Socket, peer: &H::Peer, now: Time) {
        let stamp = now.after(1);
        let refused = !host.enter(self.settings.max_connections, self.counts.open);
        let connection = if refused {
            Connection::refuse(FULL, &self.settings.limits, stamp)
        } else {
            let Some(protocol) = host.protocol(peer) else {
                self.counts.panicked += 1;
                host.leave();
                return self.complain(host, Complaint::ProtocolPanicked, now);
            };
            Connection::new(protocol, &self.settings.limits, stamp)
        };
        let readiness = Readiness { until_would_block: self.settings.edge_triggered, ..Readiness::NONE };
        let client = Client { connection, socket, readiness, watched: None, refused };
        let token = match self.clients.insert(client) {
            Ok(token) => token,
            Err(Full(client)) => {
                self.admission.table_full();
                host.watch_listeners(false);
                if !refused {
                    host.leave();
                }
                // The protocol is dropped with it, and that may panic.
                let _ = host.guard(|| drop(client));
                return;
            }
        };
        if refused {
            self.counts.refused += 1;
            if self.admission.refused(host.share(REFUSED_AT_ONCE)) {
                host.watch_listeners(false);
            }
        } else {
            self.counts.opened();
        }
        self.serve(host, token, now);
    }
}
