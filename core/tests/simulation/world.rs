//! The clock, the network and the poller: everything outside of the server, and what it asked of them.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::rc::Rc;

use evserver_core::{Ticket, Token};

use crate::agent::Agent;
use crate::link::Link;
use crate::random::Random;
use crate::scenario::{Fault, Scenario};

pub type Shared = Rc<RefCell<World>>;

/// Bytes of a millisecond of the machine: two gigabytes a second.
const BYTES_A_US: u64 = 2_000;

/// Microseconds of a turn that the server takes for a long one, or might.
const LONG_TURN_US: u64 = 30_000;

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
    /// The clock as the server read it for this turn, behind its wait.
    pub read_us: u64,
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
    pub listed: VecDeque<usize>,
    answers: Vec<Answer>,
    /// Tokens of clients that left.
    pub stale: Vec<Token>,
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
    pub complained_us: [Option<u64>; 2],
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
            read_us: clock_us,
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
            complained_us: [None; 2],
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
        let mut known_us = us;
        for &(began_ms, ended_us) in &self.long_turns {
            if known_us / 1000 >= began_ms && known_us <= ended_us {
                known_us = ended_us;
            }
        }
        known_us
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
