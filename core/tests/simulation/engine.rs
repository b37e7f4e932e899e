//! The loop around the server, as every event loop has it, and what must hold between two turns.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use evserver_core::{Client, STEPS_IN_A_TURN, Server, Time};

use crate::host::{SimHost, Table};
use crate::link;
use crate::scenario::{Ending, Scenario};
use crate::world::{Answer, Shared, World};

/// Turns after which a run is taken for one that does not end: nine times what its pushes may take.
const TURNS_AT_MOST: u64 = 50_000_000;

/// Times that somebody is picked to be pushed to in a run. Each push is several turns of a client that reads a byte at a
/// time, and each turn may bring another push: without an end to them a run has none (seed 17905). Four pushes of seven
/// bytes each are 5.6 million turns at most.
const BURSTS_OF_PUSHES: u64 = 200_000;

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    pub turns: u64,
    /// Transfers, ends and accepts.
    pub events: u64,
    pub served: u64,
    pub simulated_ms: u64,
    /// How long quiet clients waited for a reply, in order.
    pub latencies_us: Vec<u64>,
    /// How often each thing happened.
    pub seen: BTreeMap<&'static str, u64>,
}

type SimServer<const N: usize> = Server<SimHost<N>, Table<Client<SimHost<N>, N>>, N>;

pub struct Engine<const N: usize> {
    pub world: Shared,
    pub host: SimHost<N>,
    pub server: SimServer<N>,
    /// When the first signal comes.
    signal_us: Option<u64>,
    /// Turns without progress in a row.
    pub idle_turns: u64,
    /// Something other than a transfer happened in the turn.
    pub excused: bool,
    bursts_left: u64,
}

/// Runs a scenario to its end; panics where a rule does not hold.
pub fn run(scenario: &Scenario) -> Outcome {
    match scenario.buffer_bytes {
        16 => Engine::<16>::new(scenario).run(),
        64 => Engine::<64>::new(scenario).run(),
        512 => Engine::<512>::new(scenario).run(),
        4096 => Engine::<4096>::new(scenario).run(),
        other => panic!("no run with buffers of {other} bytes"),
    }
}

impl<const N: usize> Engine<N> {
    fn new(scenario: &Scenario) -> Self {
        let mut world = World::new(scenario);
        let signal_us = match scenario.ending {
            Ending::Late => None,
            Ending::Early | Ending::AtOnce => {
                Some(world.clock_us + world.random.spread(scenario.arrival_ms * 2_000 + 5_000_000))
            }
        };
        let world = Rc::new(RefCell::new(world));
        Self {
            host: SimHost::new(world.clone(), scenario),
            server: Server::new(Table::new(world.clone(), scenario.slots), scenario.settings),
            world,
            signal_us,
            idle_turns: 0,
            excused: false,
            bursts_left: BURSTS_OF_PUSHES,
        }
    }

    fn run(mut self) -> Outcome {
        let began_us = self.world.borrow().clock_us;
        while !self.server.is_done() {
            self.turn();
            {
                let world = self.world.borrow();
                assert!(
                    world.turns < TURNS_AT_MOST,
                    "does not end: {} events in {} simulated ms, {:?}",
                    world.events,
                    (world.clock_us - began_us) / 1000,
                    self.server.counts()
                );
            }
            if self.must_end_at_once() {
                break;
            }
        }
        self.end();
        let world = self.world.borrow();
        let mut latencies_us = world.latencies_us.clone();
        latencies_us.sort_unstable();
        Outcome {
            turns: world.turns,
            events: world.events,
            served: world.served,
            simulated_ms: (world.clock_us - began_us) / 1000,
            latencies_us,
            seen: world.seen.clone(),
        }
    }

    /// One wait and what follows from it.
    fn turn(&mut self) {
        self.excused = false;
        if !self.server.must_not_sleep() {
            self.sleep();
        }
        let (now, events) = {
            let world = &mut *self.world.borrow_mut();
            world.turns += 1;
            world.trace(|| format!("turn {}, due {:?}", world.turns, self.server.next_deadline()));
            world.turn_began_us = world.clock_us;
            let events = world.wait();
            world.read_us = world.clock_us;
            (Time::from_ms(world.now_ms()), events)
        };
        let before = self.world.borrow().progress;
        let edge_triggered = self.world.borrow().scenario.settings.edge_triggered;
        let accepts_first = self.world.borrow_mut().random.one_in(2);
        if accepts_first {
            self.accept(now);
        }
        for event in events {
            let ready = event.ready;
            // An edge is told once, also when there is no use for it yet.
            self.excused |= event.about.is_none() || edge_triggered;
            self.server.event(&mut self.host, event.token, ready.readable, ready.writable, ready.hangup, now);
        }
        if !accepts_first {
            self.accept(now);
        }
        self.jobs(now);
        self.signal(now);
        self.world.borrow().trace(|| "run".to_owned());
        self.server.run(&mut self.host, now);
        let ended = Time::from_ms(self.world.borrow().now_ms());
        self.server.end_turn(now, ended);
        self.world.borrow_mut().end_turn();
        self.check_turn(before);
    }

    /// Time passes until something happens.
    fn sleep(&mut self) {
        self.check_rest();
        let late_us = self.world.borrow_mut().random.below(2_000);
        loop {
            let deadline_us = self.server.next_deadline().map(|due| due.as_ms().saturating_mul(1000));
            let world = &mut *self.world.borrow_mut();
            let due = [deadline_us.map(|us| us.saturating_add(late_us)), self.signal_us];
            let is_due = |us: &u64| *us <= world.clock_us;
            if due.iter().flatten().any(is_due) || world.has_answer() || world.has_events() {
                return;
            }
            let next_us = due.into_iter().flatten().chain(world.next_us()).min();
            let Some(next_us) = next_us else {
                // Nobody has anything left to do: that is when a late signal comes.
                self.signal_us = Some(world.clock_us);
                continue;
            };
            world.advance(next_us - world.clock_us);
            if world.active == 0 && self.signal_us.is_none() && !self.server.is_draining() {
                self.signal_us = Some(world.clock_us);
            }
        }
    }

    fn accept(&mut self, now: Time) {
        let listeners = self.world.borrow().scenario.listeners;
        for listener in 0..listeners {
            let before = {
                let world = self.world.borrow();
                if !world.listening || world.closed || world.queues[listener].is_empty() {
                    continue;
                }
                world.events
            };
            self.server.accept(&mut self.host, listener, now);
            let world = self.world.borrow();
            assert!(world.events - before <= u64::from(STEPS_IN_A_TURN) * 3, "accepts without end");
        }
    }

    /// What other threads ask for.
    fn jobs(&mut self, now: Time) {
        let push_to = {
            let world = &mut *self.world.borrow_mut();
            let may =
                world.random.per_mille(world.scenario.pushes) && !world.links.is_empty() && self.bursts_left > 0;
            may.then(|| world.random.below(world.links.len() as u64) as usize)
        };
        if let Some(link) = push_to {
            self.bursts_left -= 1;
            let times = self.world.borrow_mut().random.within(1, 4);
            for _ in 0..times {
                self.push(link, now);
            }
        }
        loop {
            let answer = self.world.borrow_mut().next_answer();
            let Some(answer) = answer else { return };
            self.complete(answer, now);
        }
    }

    fn complete(&mut self, answer: Answer, now: Time) {
        let (asked, is_open, clock_us) = {
            let world = &mut *self.world.borrow_mut();
            let it = &mut world.links[answer.link];
            let asked = it.asked.filter(|(asked, _)| *asked == answer.ticket);
            if asked.is_some() {
                it.asked = None;
            }
            (asked, it.server == link::Server::Open && it.reason.is_none(), world.clock_us)
        };
        self.excused = true;
        self.world.borrow_mut().note(if asked.is_some() { "answer" } else { "late answer" });
        let taken = self.server.complete(&mut self.host, answer.ticket, now, |_| {}).is_ok();
        match asked {
            Some((_, until_us)) if is_open => {
                let may_be_late = until_us.is_some_and(|until_us| clock_us >= until_us);
                assert!(taken || may_be_late, "an answer was refused");
            }
            _ => assert!(!taken, "an answer for nobody was taken"),
        }
        if taken {
            let world = &mut *self.world.borrow_mut();
            world.links[answer.link].moved_us = world.clock_us;
        }
    }

    fn push(&mut self, link: usize, now: Time) {
        const NEWS: &[u8] = b"*news*\n";
        let (token, moved_us) = {
            let world = &mut *self.world.borrow_mut();
            let it = &mut world.links[link];
            let moved_us = (it.moved_us, world.clock_us);
            let Some((token, _)) = it.watch else { return };
            if !it.owes() {
                it.moved_us = world.clock_us;
            }
            it.pushed += NEWS.len() as u64;
            it.undecided = NEWS.len() as u64;
            it.pushes += 1;
            (token, moved_us)
        };
        let taken = self.server.push(&mut self.host, token, NEWS, now).is_ok();
        self.world.borrow_mut().links[link].undecided = 0;
        self.world.borrow_mut().note(if taken { "push" } else { "refused push" });
        if !taken {
            let it = &mut self.world.borrow_mut().links[link];
            it.pushed -= NEWS.len() as u64;
            it.pushes -= 1;
            if it.moved_us == moved_us.1 {
                it.moved_us = moved_us.0;
            }
        }
    }

    /// The signal to stop, once.
    fn signal(&mut self, now: Time) {
        let due = {
            let world = self.world.borrow();
            self.signal_us.is_some_and(|us| us <= world.clock_us)
        };
        if !due {
            return;
        }
        self.signal_us = None;
        let listeners = {
            let world = &mut *self.world.borrow_mut();
            world.note_drain();
            world.drain_due_us = Some(now.as_ms() * 1000 + u64::from(world.scenario.settings.drain_ms) * 1000);
            world.scenario.listeners
        };
        self.server.drain(&mut self.host, listeners, now);
        self.world.borrow_mut().close_listeners();
    }

    fn must_end_at_once(&self) -> bool {
        let world = &mut *self.world.borrow_mut();
        self.server.is_draining() && world.scenario.ending == Ending::AtOnce && world.random.one_in(4)
    }

    /// Everything is over: nothing is left behind, and every client got what it was owed.
    fn end(&mut self) {
        let settings = self.world.borrow().scenario.settings;
        if !self.server.is_done() {
            self.world.borrow_mut().at_once = true;
            self.world.borrow_mut().links.iter_mut().for_each(|it| it.watch = None);
            // Buffers and sockets go with the table.
            let empty = Server::new(Table::new(self.world.clone(), None), settings);
            drop(std::mem::replace(&mut self.server, empty));
        } else {
            assert_eq!(self.host.lent, 0, "pairs of buffers that did not come back");
        }
        let world = &mut *self.world.borrow_mut();
        assert_eq!((world.open, world.serving, world.refused_open), (0, 0, 0), "open sockets");
        assert!(world.links.iter().all(|it| it.watch.is_none()), "watched although closed");
        while world.active > 0
            && let Some(next_us) = world.next_us()
        {
            world.forget_answers();
            world.advance(next_us.saturating_sub(world.clock_us));
        }
        let unfinished: Vec<_> = world.unfinished().take(3).collect();
        assert!(unfinished.is_empty(), "clients that were left alone: {unfinished:?}");
    }
}
