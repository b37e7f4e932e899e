//! The poller under the server: what is watched, what is ready, and what it says of that.

use evserver_core::{Interest, Token};

use crate::link::{Link, Ready};
use crate::scenario::Fault;
use crate::world::World;

/// An event of the poller.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub token: Token,
    pub ready: Ready,
    /// The link that it is about; `None` for a lie.
    pub about: Option<usize>,
}

impl World {
    pub fn watch(&mut self, link: usize, token: Token, interest: Interest) -> bool {
        self.system_call(0);
        self.first_call(link);
        if self.has(Fault::WatchFailures) && self.random.one_in(50) {
            return false;
        }
        let it = &mut self.links[link];
        assert!(it.watch.is_none() && !it.was_watched, "watched twice");
        it.watch = Some((token, interest));
        it.was_watched = true;
        it.edge = true;
        self.trace(|| format!("watch {link} {interest:?}"));
        self.touch(link);
        true
    }

    pub fn rewatch(&mut self, link: usize, token: Token, interest: Interest) -> bool {
        self.system_call(0);
        assert!(!self.scenario.settings.edge_triggered, "an edge-triggered poller keeps its interest");
        if self.has(Fault::WatchFailures) && self.random.one_in(50) {
            self.note("failed watch");
            return false;
        }
        let it = &mut self.links[link];
        let (known, before) = it.watch.expect("watched before");
        assert_eq!(known, token);
        assert_ne!(before, interest, "a change that is none");
        it.watch = Some((token, interest));
        self.trace(|| format!("rewatch {link} {interest:?}"));
        self.touch(link);
        true
    }

    pub fn unwatch(&mut self, link: usize, token: Token) {
        self.system_call(0);
        if let Some((known, _)) = self.links[link].watch.take() {
            assert_eq!(known, token);
            self.stale.push(token);
        }
    }

    /// Whether a wait would end at once.
    pub fn has_events(&mut self) -> bool {
        let edge_triggered = self.scenario.settings.edge_triggered;
        while let Some(&link) = self.listed.front() {
            if Self::report(&self.links[link], edge_triggered).any() {
                return true;
            }
            self.listed.pop_front();
            self.links[link].listed = false;
        }
        self.has_queued()
    }

    pub fn has_queued(&self) -> bool {
        self.listening && !self.closed && self.queues.iter().any(|queue| !queue.is_empty())
    }

    fn report(link: &Link, edge_triggered: bool) -> Ready {
        match edge_triggered {
            true if link.edge && link.watch.is_some() => link.ready(),
            true => Ready::default(),
            false if link.watch.is_some() => link.level(),
            false => Ready::default(),
        }
    }

    /// The events of a wait.
    pub fn wait(&mut self) -> Vec<Event> {
        self.system_call(0);
        let edge_triggered = self.scenario.settings.edge_triggered;
        let lies = self.has(Fault::Lies);
        let mut events = Vec::new();
        for _ in 0..self.listed.len() {
            if events.len() == self.scenario.events_in_a_turn {
                break;
            }
            let Some(link) = self.listed.pop_front() else { break };
            let late = lies && self.random.one_in(10);
            let it = &mut self.links[link];
            let ready = Self::report(it, edge_triggered);
            it.listed = ready.any() && (late || !edge_triggered);
            if it.listed {
                self.listed.push_back(link);
            }
            if late || !ready.any() {
                continue;
            }
            it.edge = false;
            let (token, _) = it.watch.expect("only what is watched is reported");
            self.trace(|| format!("event {link} {ready:?}"));
            events.push(Event { token, ready, about: Some(link) });
        }
        if lies && self.random.one_in(3) {
            self.lie(&mut events);
        }
        events
    }

    /// Says of some link, or of a client that left, what is not so.
    fn lie(&mut self, events: &mut Vec<Event>) {
        let flags = self.random.below(4);
        let ready = Ready { readable: flags & 1 != 0, writable: flags & 2 != 0, hangup: false };
        let lied = match self.random.below(self.links.len() as u64 + 1) as usize {
            link if link < self.links.len() && self.links[link].watch.is_some() => {
                self.links[link].watch.map(|(token, _)| (token, ready))
            }
            _ if self.stale.is_empty() => None,
            _ => Some((self.random.pick(&self.stale), Ready { readable: true, writable: true, hangup: true })),
        };
        if let Some((token, ready)) = lied {
            let at = self.random.below(events.len() as u64 + 1) as usize;
            events.insert(at, Event { token, ready, about: None });
            self.note("lie");
        }
    }
}
