//! What must hold between two turns.

use evserver_core::Interest;

use crate::engine::Engine;
use crate::link::Server;
use crate::scenario::Fault;

/// Milliseconds that a limit may act late, and that a busy loop adds to it.
const LATE_MS: u64 = 250 + 500;

/// Turns without progress in a row that faults can explain.
const LIES_IN_A_ROW: u64 = 200;

/// Rounds of the wheel of timers, of sixteen seconds, in the longest limit of a ticket.
const WHEEL_ROUNDS: u64 = 3;

/// Turns in a row in which clients come to wait for buffers.
const STARVED_IN_A_ROW: u64 = 100;

impl<const N: usize> Engine<N> {
    /// A turn made progress, or had another reason.
    pub fn check_turn(&mut self, before: u64) {
        let world = self.world.borrow();
        let counts = self.server.counts();
        assert_eq!((counts.open, counts.served, counts.peak), (world.serving, world.served, world.peak));
        assert_eq!(self.host.entered, world.serving);
        let moved = world.progress != before || self.excused;
        self.idle_turns = if moved { 0 } else { self.idle_turns + 1 };
        let waiting = || world.links.iter().filter(|it| it.waiting && it.server == Server::Open).count() as u64;
        let most = if moved {
            0
        } else if world.has(Fault::Lies) || world.has(Fault::Interrupts) {
            LIES_IN_A_ROW
        } else if world.has(Fault::FewBuffers) {
            // A client that cannot have buffers is not watched any more: one turn for each.
            STARVED_IN_A_ROW
        } else if self.server.is_draining() {
            // To tell a client that takes nothing of the shutdown moves nothing.
            3 + WHEEL_ROUNDS * waiting()
        } else {
            // While answers are waited for the wheel of timers turns, once in sixteen seconds.
            // By edges only would-block ends a transfer, and that may be left for the next turn.
            u64::from(world.scenario.settings.edge_triggered) + WHEEL_ROUNDS * waiting()
        };
        assert!(self.idle_turns <= most, "{} turns in a row without progress", self.idle_turns);
        if let Some(due_us) = world.drain_due_us {
            let due_us = due_us.max(world.resumed_us) + LATE_MS * 1000;
            assert!(world.clock_us <= due_us || self.server.is_done(), "the shutdown does not end");
        }
        let elapsed_s = (world.clock_us - world.scenario.origin_ms * 1000) / 1_000_000;
        assert!(world.exhausted <= world.chances + elapsed_s + 4, "accepts although nothing was freed");
    }

    /// The server sleeps: nothing that could move stands still, nothing that is due is forgotten, and buffers are
    /// where something is in them.
    pub fn check_rest(&self) {
        let world = &mut *self.world.borrow_mut();
        // It goes over all links, so it is done now and then.
        let one_in = 16 + world.links.len() as u64 / 8;
        if !world.random.one_in(one_in) {
            return;
        }
        let limits = world.scenario.settings.limits;
        let few = world.has(Fault::FewBuffers);
        let mut busy = 0;
        for (number, it) in world.links.iter().enumerate() {
            if it.server != Server::Open {
                continue;
            }
            busy += usize::from(it.needs_buffers() || it.waiting);
            let ready = it.ready();
            let due_us = |from_us: u64, ms: u32| from_us.max(world.resumed_us) + (u64::from(ms) + LATE_MS) * 1000;
            if it.waiting {
                // To say that it expired takes buffers and an empty output.
                if !few
                    && !it.owes()
                    && let Some((_, Some(until_us))) = it.asked
                {
                    assert!(world.clock_us <= due_us(until_us, 0), "link {number}: its ticket is forgotten");
                }
                continue;
            }
            assert!(
                it.shut_us.is_some()
                    || world.clock_us <= due_us(world.known_us(it.moved_us) + u64::from(limits.idle_ms) * 1000, 0),
                "link {number}: its idle limit is forgotten: {it:?}"
            );
            if let Some(shut_us) = it.shut_us {
                let linger_us = u64::from(limits.linger_ms) * 1000;
                assert!(
                    world.clock_us <= due_us(world.known_us(shut_us) + linger_us, 0),
                    "link {number} lingers on"
                );
            }
            if let Some(pairs) = world.scenario.pairs
                && let Some((_, interest)) = it.watch
                && !world.scenario.settings.edge_triggered
            {
                let starves = interest == Interest::None;
                assert!(!starves || self.host.lent == pairs, "link {number} starves beside free buffers");
            }
            if few || world.has(Fault::Lies) {
                continue;
            }
            if it.owes() {
                assert!(!ready.writable || it.listed, "link {number} could send and does not: {it:?}");
            } else {
                assert!(!ready.readable || it.listed, "link {number} could receive and does not: {it:?}");
            }
        }
        if !few {
            assert!(self.host.lent <= busy, "{} pairs are lent to {busy} busy connections", self.host.lent);
        }
    }
}
