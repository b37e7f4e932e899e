//! The clock, the network and the poller: everything outside of the server, and what it asked of them.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

use evserver_core::{Interest, Ticket, Token};

use crate::agent::Agent;
use crate::link::{Link, Read, Ready, Server};
use crate::random::Random;
use crate::scenario::{Fault, Scenario};

pub type Shared = Rc<RefCell<World>>;

/// Events that one wait reports.
const EVENTS_IN_A_TURN: usize = 256;

/// Bytes of a millisecond of the machine: two gigabytes a second.
const BYTES_A_US: u64 = 2_000;

/// Microseconds of a turn that the server takes for a long one, or might.
const LONG_TURN_US: u64 = 30_000;

/// An event of the poller.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub token: Token,
    pub ready: Ready,
    /// The link that it is about; `None` for a lie.
    pub about: Option<usize>,
}

/// An answer that somebody else found.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    at_us: u64,
    pub link: usize,
    pub ticket: Ticket,
}

/// Everything outside of the server.
pub struct World {
    pub scenario: Scenario,
    pub random: Random,
    /// The real time, in microseconds.
    pub clock_us: u64,
    /// When the process was last continued.
    pub resumed_us: u64,
    /// When the turn began, as the server knows it.
    pub turn_began_us: u64,
    /// Turns that took long: the millisecond in which each began, and when it ended.
    long_turns: Vec<(u64, u64)>,
    /// When a shutdown that has begun must be over.
    pub drain_due_us: Option<u64>,
    /// The second signal came: everything is dropped.
    pub at_once: bool,
    pub links: Vec<Link>,
    pub queues: Vec<VecDeque<usize>>,
    pub listening: bool,
    /// The listeners are closed.
    pub closed: bool,
    agents: Vec<Option<Agent>>,
    wakes: BinaryHeap<Reverse<(u64, usize)>>,
    listed: VecDeque<usize>,
    answers: Vec<Answer>,
    /// Tokens of clients that left.
    stale: Vec<Token>,
    /// Descriptors of clients that are open.
    pub open: usize,
    /// Clients that are served, and the most of them.
    pub serving: u64,
    pub peak: u64,
    pub served: u64,
    pub refused_open: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Whatever counts as progress: transfers, ends, accepts, closes.
    pub progress: u64,
    /// Transfers, ends and accepts, for the report.
    pub events: u64,
    /// How long quiet clients waited for a reply, in microseconds.
    pub latencies_us: Vec<u64>,
    /// Clients that are not done.
    pub active: usize,
    /// How often accepting was told that there are no descriptors, and how often it could have helped to ask.
    pub exhausted: u64,
    pub chances: u64,
    pub complained_us: Option<u64>,
    /// How often each thing that a run is there for happened.
    pub seen: BTreeMap<&'static str, u64>,
    /// Says on standard error what happens.
    traces: bool,
}

impl World {
    pub fn new(scenario: &Scenario) -> Self {
        let mut random = Random::new(scenario.seed ^ 0x5eed);
        let clock_us = scenario.origin_ms * 1000 + random.below(1000);
        let agents = (0..scenario.clients).map(|number| {
            let chosen = random.pick(&scenario.kinds);
            let kind = if scenario.kinds.len() == scenario.clients { scenario.kinds[number] } else { chosen };
            Some(Agent::new(number, kind, scenario, random.fork()))
        });
        let agents: Vec<_> = agents.collect();
        let arrivals = (0..scenario.clients)
            .map(|number| Reverse((clock_us + random.below(scenario.arrival_ms * 1000 + 1), number)))
            .collect();
        Self {
            scenario: scenario.clone(),
            random,
            clock_us,
            resumed_us: clock_us,
            turn_began_us: clock_us,
            long_turns: Vec::new(),
            drain_due_us: None,
            at_once: false,
            links: Vec::new(),
            queues: vec![VecDeque::new(); scenario.listeners],
            listening: true,
            closed: false,
            active: agents.len(),
            agents,
            wakes: arrivals,
            listed: VecDeque::new(),
            answers: Vec::new(),
            stale: Vec::new(),
            open: 0,
            serving: 0,
            peak: 0,
            served: 0,
            refused_open: 0,
            turns: 0,
            progress: 0,
            events: 0,
            latencies_us: Vec::new(),
            exhausted: 0,
            chances: 0,
            complained_us: None,
            seen: BTreeMap::new(),
            traces: std::env::var_os("EVSERVER_TRACE").is_some(),
        }
    }

    /// The clock of the server: milliseconds, rounded down.
    pub fn now_ms(&self) -> u64 {
        self.clock_us / 1000
    }

    pub fn note(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// The turn is over.
    pub fn end_turn(&mut self) {
        if self.clock_us - self.turn_began_us > LONG_TURN_US {
            self.note("long turn");
            self.long_turns.push((self.turn_began_us / 1000, self.clock_us));
        }
    }

    /// What happened then counts as of this moment: the server reads its clock at the ends of a turn only, so that
    /// whatever it did in a long one happened at its end at the latest. Its clock has milliseconds, and turns that
    /// began in the same one are the same to it.
    pub fn known_us(&self, us: u64) -> u64 {
        let known =
            self.long_turns.iter().rev().find(|(began_ms, ended_us)| us / 1000 >= *began_ms && us <= *ended_us);
        known.map_or(us, |(_, ended_us)| *ended_us)
    }

    /// For whoever looks for what went wrong in a run: `EVSERVER_TRACE=1`.
    pub fn trace(&self, what: impl FnOnce() -> String) {
        if self.traces {
            eprintln!("{:12.3} {}", self.clock_us as f64 / 1000.0, what());
        }
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.scenario.has(fault)
    }

    /// A system call takes its time, in which the clients go on. The process may be stopped in it.
    pub fn system_call(&mut self, bytes: usize) {
        let mut cost_us = self.random.within(1, 4) + bytes as u64 / BYTES_A_US;
        if self.has(Fault::Stops) && self.random.one_in(20_000) {
            cost_us += self.random.spread(60_000_000);
            self.note("stop in a turn");
            self.advance(cost_us);
            self.resumed_us = self.clock_us;
        } else {
            self.advance(cost_us);
        }
    }

    /// Time passes, and the clients do what is due.
    pub fn advance(&mut self, us: u64) {
        let until = self.clock_us + us;
        while let Some(&Reverse((at_us, number))) = self.wakes.peek()
            && at_us <= until
        {
            self.wakes.pop();
            self.clock_us = self.clock_us.max(at_us);
            self.run_agent(number, at_us);
        }
        self.clock_us = until;
    }

    /// When a client or a job comes next.
    pub fn next_us(&self) -> Option<u64> {
        let wake = self.wakes.peek().map(|Reverse((at_us, _))| *at_us);
        wake.into_iter().chain(self.answers.iter().map(|answer| answer.at_us)).min()
    }

    /// The answer that `ticket` stands for is there some time later.
    pub fn answer_in(&mut self, delay_us: u64, link: usize, ticket: Ticket) {
        self.answers.push(Answer { at_us: self.clock_us + delay_us, link, ticket });
    }

    pub fn has_answer(&self) -> bool {
        self.answers.iter().any(|answer| answer.at_us <= self.clock_us)
    }

    pub fn next_answer(&mut self) -> Option<Answer> {
        let due = self.answers.iter().position(|answer| answer.at_us <= self.clock_us)?;
        Some(self.answers.swap_remove(due))
    }

    pub fn forget_answers(&mut self) {
        self.answers.clear();
    }

    fn run_agent(&mut self, number: usize, at_us: u64) {
        let Some(mut agent) = self.agents[number].take() else { return };
        if agent.is_due(at_us) {
            match agent.step(self) {
                Some(us) => {
                    let at_us = self.clock_us + us;
                    agent.sleep_until(at_us);
                    self.wakes.push(Reverse((at_us, number)));
                }
                None => self.active -= 1,
            }
        }
        self.agents[number] = Some(agent);
    }

    /// A client that waits for the server has something to see.
    pub fn tell_client(&mut self, link: usize) {
        let number = self.links[link].agent;
        let delay_us = self.random.within(5, 200);
        if let Some(agent) = &mut self.agents[number]
            && agent.waits()
        {
            let at_us = self.clock_us + delay_us;
            agent.sleep_until(at_us);
            self.wakes.push(Reverse((at_us, number)));
        }
    }

    /// The clients that have something left to do.
    pub fn unfinished(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter().flatten().filter(|agent| !agent.is_done())
    }

    /// Something happened to a link that its poller may have to report.
    pub fn touch(&mut self, link: usize) {
        let it = &mut self.links[link];
        if it.watch.is_some() && !it.listed {
            it.listed = true;
            self.listed.push_back(link);
        }
    }
}

/// What the poller does.
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
            if events.len() == EVENTS_IN_A_TURN {
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

/// What a client does.
impl World {
    /// Connects; `None` when nobody listens.
    pub fn connect(&mut self, agent: usize) -> Option<usize> {
        if self.closed {
            return None;
        }
        let most = self.scenario.pipe_bytes;
        let pipe_bytes = if self.scenario.wide_pipes { most } else { self.random.spread(most) } as usize;
        let link = self.links.len();
        self.links.push(Link::new(agent, pipe_bytes, self.scenario.buffer_bytes));
        let queue = self.random.below(self.queues.len() as u64) as usize;
        self.queues[queue].push_back(link);
        Some(link)
    }

    /// Writes as much as fits and returns how much that was; `None` when the connection is gone.
    pub fn client_write(&mut self, link: usize, bytes: &[u8]) -> Option<usize> {
        let clock_us = self.clock_us;
        let it = &mut self.links[link];
        if it.server == Server::Gone || it.reset_to_client {
            it.reset_to_client = true;
            it.down.clear();
            return None;
        }
        assert!(!it.up_end, "a client writes before its end");
        let fits = it.room_up().min(bytes.len());
        if fits > 0 {
            if it.up.is_empty() {
                it.up_since_us = clock_us;
            }
            it.up.extend(&bytes[..fits]);
            it.edge = true;
            self.touch(link);
        }
        Some(fits)
    }

    pub fn client_read(&mut self, link: usize, most: usize) -> Read {
        let it = &mut self.links[link];
        if it.reset_to_client {
            return Read::Reset;
        }
        if it.down.is_empty() {
            return if it.down_end { Read::End } else { Read::Nothing };
        }
        let count = it.down.len().min(most);
        let bytes = it.down.drain(..count).collect();
        if it.ready().writable && it.blocked {
            it.blocked = false;
            it.edge = true;
        }
        self.touch(link);
        Read::Bytes(bytes)
    }

    /// The client sends nothing more.
    pub fn client_end(&mut self, link: usize) {
        let it = &mut self.links[link];
        if !it.up_end {
            it.up_end = true;
            it.edge = true;
            self.touch(link);
        }
    }

    /// The client closes its socket: with unread bytes that is a reset.
    pub fn client_close(&mut self, link: usize) {
        if self.links[link].down.is_empty() {
            self.client_end(link);
            self.links[link].client_open = false;
        } else {
            self.client_reset(link);
        }
    }

    pub fn client_reset(&mut self, link: usize) {
        let loses_input = self.random.one_in(2);
        let it = &mut self.links[link];
        it.client_open = false;
        it.reset = true;
        it.edge = true;
        it.down.clear();
        if loses_input {
            it.up.clear();
        }
        self.touch(link);
    }
}
