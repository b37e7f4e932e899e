//! The server's end of the network: its system calls on sockets, and what each must not do.

use evserver_core::{Accept, CloseReason, Io, REFUSED_AT_ONCE, TURN_BYTES};

use crate::link::{Link, Server};
use crate::scenario::Fault;
use crate::world::World;

/// Milliseconds that a limit may act late: rule 8.
const LATE_MS: u64 = 250;

/// Milliseconds that the loop may take besides: the turns of a simulated machine that is busy.
const BUSY_MS: u64 = 500;

/// Bytes of replies to a byte of input, at most: an empty line with a number of ten digits.
const REPLY_BYTES_A_BYTE: u64 = 13;

impl World {
    pub fn accept(&mut self, listener: usize) -> Accept<usize, usize> {
        self.system_call(0);
        assert!(!self.closed, "accepts from a closed listener");
        if self.has(Fault::Interrupts) && self.random.one_in(20) {
            return Accept::Interrupted;
        }
        let Some(&link) = self.queues[listener].front() else { return Accept::WouldBlock };
        if self.scenario.descriptors.is_some_and(|most| self.open >= most) {
            self.exhausted += 1;
            self.note("out of descriptors");
            return Accept::Exhausted;
        }
        self.queues[listener].pop_front();
        self.progress += 1;
        self.events += 1;
        if self.has(Fault::Aborts) && self.random.one_in(3) {
            self.abort(link);
            self.note("aborted client");
            return Accept::Dropped;
        }
        let agent = self.links[link].agent;
        let it = &mut self.links[link];
        it.server = Server::Open;
        it.moved_us = self.clock_us;
        self.open += 1;
        Accept::Client(link, agent)
    }

    /// A client that was not accepted is gone.
    fn abort(&mut self, link: usize) {
        let it = &mut self.links[link];
        it.server = Server::Gone;
        it.reset_to_client = true;
        self.tell_client(link);
    }

    /// The listeners close: whoever is in a queue is reset.
    pub fn close_listeners(&mut self) {
        self.closed = true;
        for queue in 0..self.queues.len() {
            while let Some(link) = self.queues[queue].pop_front() {
                self.abort(link);
            }
        }
    }

    pub fn receive(&mut self, link: usize, space: &mut [u8]) -> Io {
        assert!(!space.is_empty(), "a receive into nothing");
        self.system_call(space.len().min(self.links[link].up.len()));
        self.first_call(link);
        if self.has(Fault::Interrupts) && self.random.one_in(20) {
            return Io::Interrupted;
        }
        let short = self.has(Fault::ShortTransfers) && self.random.one_in(3);
        let most = if short { self.random.spread(space.len() as u64) as usize } else { space.len() };
        let clock_us = self.clock_us;
        let it = &mut self.links[link];
        assert!(it.watch.is_some() || !it.was_watched, "a receive behind the end of the watch");
        if it.up.is_empty() {
            if !it.reset && !it.up_end {
                return Io::WouldBlock;
            }
            let io = if it.reset { Io::Failed } else { Io::End };
            self.progress += 1;
            self.events += 1;
            return io;
        }
        let count = it.up.len().min(most);
        for (place, byte) in space.iter_mut().zip(it.up.drain(..count)) {
            *place = byte;
        }
        // Discarded bytes are no lines.
        if it.shut_us.is_none() {
            it.tally.received(&space[..count], clock_us);
        }
        it.received += count as u64;
        // What is left came later than this, as far as anybody can tell.
        it.up_since_us = clock_us;
        self.moved(link, count);
        self.tell_client(link);
        Io::Moved(count)
    }

    pub fn send(&mut self, link: usize, bytes: &[u8]) -> Io {
        assert!(!bytes.is_empty(), "a send of nothing");
        self.system_call(bytes.len());
        self.first_call(link);
        if self.has(Fault::Interrupts) && self.random.one_in(20) {
            return Io::Interrupted;
        }
        let short = self.has(Fault::ShortTransfers) && self.random.one_in(3);
        let most = if short { self.random.spread(bytes.len() as u64) as usize } else { bytes.len() };
        let it = &mut self.links[link];
        assert!(it.shut_us.is_none(), "a send behind the end of the stream");
        if it.reset {
            self.progress += 1;
            self.events += 1;
            return Io::Failed;
        }
        if !it.client_open {
            // The peer's system answers what nobody reads with a reset.
            it.reset = true;
            it.edge = true;
            self.touch(link);
            self.moved(link, most);
            self.links[link].sent += most as u64;
            return Io::Moved(most);
        }
        let count = most.min(it.pipe_bytes - it.down.len());
        if count == 0 {
            it.blocked = true;
            return Io::WouldBlock;
        }
        it.down.extend(&bytes[..count]);
        // A short send is told of by an edge when there is room again, but only if it was short for lack of room.
        it.blocked = count < bytes.len() && it.down.len() == it.pipe_bytes;
        it.sent += count as u64;
        it.sent_us = self.clock_us;
        let (sent, owed) = (it.sent, it.tally.owed + it.pushed);
        assert!(sent <= owed, "sent {sent} of {owed} bytes");
        self.touch(link);
        self.moved(link, count);
        self.tell_client(link);
        Io::Moved(count)
    }

    pub fn shutdown_write(&mut self, link: usize) {
        self.system_call(0);
        let it = &mut self.links[link];
        assert!(it.shut_us.is_none(), "shut twice");
        it.shut_us = Some(self.clock_us);
        it.down_end = true;
        it.edge = true;
        self.progress += 1;
        self.touch(link);
        self.tell_client(link);
    }

    /// Bytes moved.
    fn moved(&mut self, link: usize, count: usize) {
        self.progress += 1;
        self.events += 1;
        let (turn, n) = (self.turns, self.scenario.buffer_bytes as u64);
        let it = &mut self.links[link];
        it.moved_us = self.clock_us;
        let before = if it.turn.0 == turn { it.turn.1 } else { 0 };
        it.turn = (turn, before + count as u64);
        // A turn of the loop can hold two of the connection, an event's and what was left of that, and its last one
        // when the server shuts down.
        let most = (2 + u64::from(self.drain_due_us.is_some())) * (TURN_BYTES as u64 + n);
        assert!(it.turn.1 <= most, "{} bytes of one client in a turn of the loop", it.turn.1);
    }

    /// The first call on a socket shows whether its client is served.
    pub fn first_call(&mut self, link: usize) {
        let it = &mut self.links[link];
        if std::mem::replace(&mut it.in_table, true) {
            return;
        }
        let most = self.scenario.settings.max_connections;
        let full = most.is_some_and(|most| self.serving >= u64::from(most));
        assert_eq!(it.served, !full, "{} are served of at most {most:?}", self.serving);
        if it.served {
            self.served += 1;
            self.serving += 1;
            self.peak = self.peak.max(self.serving);
        } else {
            it.tally.refuse();
            self.refused_open += 1;
            self.seen.entry("refused client").and_modify(|n| *n += 1).or_insert(1);
            assert!(self.refused_open <= u64::from(REFUSED_AT_ONCE), "{} refused clients", self.refused_open);
        }
    }

    /// The server closes a socket.
    pub fn close(&mut self, link: usize) {
        self.system_call(0);
        let it = &self.links[link];
        assert!(it.watch.is_none(), "closed while it is watched: rule 11");
        assert_eq!(it.server, Server::Open, "closed twice");
        if !self.at_once {
            self.check_close(it);
        }
        self.open -= 1;
        self.chances += 1;
        self.progress += 1;
        self.note(match self.links[link].reason {
            Some(CloseReason::Protocol) => "closed by the protocol",
            Some(CloseReason::PeerEnd) => "closed by the peer",
            Some(CloseReason::IdleTimeout) => "idle timeout",
            Some(CloseReason::LineTimeout) => "line timeout",
            Some(CloseReason::Drained) => "drained",
            Some(CloseReason::DrainTimeout) => "drain timeout",
            Some(CloseReason::Failed) => "failed",
            Some(CloseReason::Refused | CloseReason::NoProgress | CloseReason::Panicked) => "impossible",
            None => "closed untold",
        });
        let it = &mut self.links[link];
        it.server = Server::Gone;
        if it.in_table {
            let count = if it.served { &mut self.serving } else { &mut self.refused_open };
            *count -= 1;
        }
        if it.up.is_empty() && !it.poisoned {
            it.down_end = true;
        } else {
            // Unread input makes a reset of the close, and that may take what the client has not read.
            it.reset_to_client = true;
            it.down.clear();
            self.note("reset by a close");
        }
        let it = &mut self.links[link];
        it.up.clear();
        self.tell_client(link);
    }

    /// What must be so when the server closes a socket.
    #[track_caller]
    fn check_close(&self, it: &Link) {
        let limits = self.scenario.settings.limits;
        let since_ms = |us: u64| (self.clock_us - us) as f64 / 1000.0;
        // A limit cannot act while the process is stopped.
        let late_ms = |due_us: u64| since_ms(due_us.max(self.resumed_us).min(self.clock_us));
        let in_time = |what: &str, from_us: u64, limit_ms: u32| {
            let due_us = from_us + u64::from(limit_ms) * 1000;
            assert!(self.clock_us >= due_us, "{what}: early by {} µs", due_us - self.clock_us);
            let late_ms = late_ms(self.known_us(from_us) + u64::from(limit_ms) * 1000);
            assert!(late_ms <= (LATE_MS + BUSY_MS) as f64, "{what}: late by {late_ms} ms");
        };
        match it.reason {
            Some(CloseReason::IdleTimeout) => {
                // An answer that did not come, and cannot be said for lack of buffers, began the time anew unseen.
                if !it.waiting {
                    in_time("idle", it.moved_us, limits.idle_ms);
                }
                let due_us = it.moved_us + u64::from(limits.idle_ms) * 1000;
                let unread_in_time = !it.up.is_empty() && it.up_since_us < due_us;
                if unread_in_time && !it.owes() && self.scenario.pairs.is_none() {
                    panic!("timed out although {} bytes had come in time", it.up.len());
                }
            }
            Some(CloseReason::LineTimeout) => {
                let since_us = it.tally.line_since_us.expect("a line that is not whole");
                in_time("line", since_us.max(it.sent_us), limits.line_ms);
            }
            Some(CloseReason::Protocol | CloseReason::PeerEnd | CloseReason::Drained) => {
                assert!(!it.owes(), "{:?}: sent {} of {} bytes", it.reason, it.sent, it.tally.owed + it.pushed);
                assert!(it.reason != Some(CloseReason::Protocol) || it.tally.over, "closed without need");
                // By level a short receive says that there is no more.
                if it.reason == Some(CloseReason::Drained) && !self.has(Fault::ShortTransfers) {
                    assert!(it.received >= it.last_turn, "received {} of {}", it.received, it.last_turn);
                }
                let ended = (it.up_end && it.up.is_empty()) || it.reset;
                // A poller that cannot watch it any more ends it at once, and so does the end of a shutdown.
                let is_cut = self.drain_due_us.is_some_and(|due_us| self.clock_us >= due_us);
                if !ended && !is_cut && !self.has(Fault::WatchFailures) {
                    let shut_us = it.shut_us.expect("an end of stream before the close");
                    in_time("linger", shut_us, limits.linger_ms);
                }
            }
            Some(CloseReason::Failed) => assert!(it.reset || self.has(Fault::WatchFailures), "failed without need"),
            Some(CloseReason::NoProgress) => panic!("no progress"),
            Some(CloseReason::DrainTimeout) => {
                assert!(self.drain_due_us.is_some_and(|due_us| self.clock_us >= due_us))
            }
            Some(CloseReason::Refused | CloseReason::Panicked) => panic!("told {:?}", it.reason),
            None => assert!(!it.served || it.poisoned || self.at_once, "closed without a word"),
        }
    }

    /// A shutdown begins: what is there now is owed one turn.
    pub fn note_drain(&mut self) {
        for it in self.links.iter_mut().filter(|it| it.server == Server::Open) {
            let most = TURN_BYTES as u64 / REPLY_BYTES_A_BYTE;
            it.last_turn = it.received + (it.up.len() as u64).min(most);
        }
    }
}
