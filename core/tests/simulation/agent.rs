//! The clients: each has a manner, and compares what comes with what must come.

use evserver_core::CloseReason;

use crate::expect::Expect;
use crate::link::Read;
use crate::random::Random;
use crate::scenario::Scenario;
use crate::world::World;

pub use manner::Kind;
use manner::{Finish, Manner};

mod manner;

/// Microseconds that a client waits for the server before it looks again by itself.
const PATIENCE_US: u64 = 1_000_000_000;

/// A flood fills its pipe at most so often.
const PIPES_OF_A_FLOOD: u64 = 2_000;

/// A client, one connection after the other.
#[derive(Debug)]
pub struct Agent {
    number: usize,
    kind: Kind,
    random: Random,
    buffer_bytes: usize,
    /// Bytes that a flood sends.
    flood_bytes: u64,
    idle_us: u64,
    lives: u64,
    life: Option<Life>,
    /// When it goes on.
    wake_us: u64,
    /// It goes on earlier when the server did something.
    waits: bool,
    done: bool,
}

/// One connection.
#[derive(Debug)]
struct Life {
    link: usize,
    manner: Manner,
    expect: Expect,
    /// Bytes that are to be sent next, and how many of them were.
    out: Vec<u8>,
    at: usize,
    began_us: u64,
    /// When the last line of a burst was sent.
    asked_us: Option<u64>,
    /// Everything that it has to say was said.
    said_all: bool,
    /// The connection does not take any more.
    broken: bool,
    /// Since when the server's end of stream is known.
    ended_us: Option<u64>,
    got: u64,
}

impl Agent {
    pub fn new(number: usize, kind: Kind, scenario: &Scenario, mut random: Random) -> Self {
        Self {
            number,
            kind,
            lives: random.spread(3),
            random,
            buffer_bytes: scenario.buffer_bytes,
            flood_bytes: scenario.flood_bytes,
            idle_us: u64::from(scenario.settings.limits.idle_ms) * 1000,
            life: None,
            wake_us: 0,
            waits: false,
            done: false,
        }
    }

    pub fn is_due(&self, at_us: u64) -> bool {
        !self.done && (self.wake_us == at_us || self.wake_us == 0)
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    pub fn sleep_until(&mut self, at_us: u64) {
        self.wake_us = at_us;
    }

    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Does what is next; says in how many microseconds it goes on, `None` when it is done.
    pub fn step(&mut self, world: &mut World) -> Option<u64> {
        self.waits = false;
        let Some(mut life) = self.life.take() else { return self.connect(world) };
        let next = life.step(self, world);
        if next.is_some() {
            self.life = Some(life);
            return next;
        }
        world.client_close(life.link);
        self.lives -= 1;
        if self.lives == 0 {
            self.done = true;
            return None;
        }
        Some(self.random.spread(100_000))
    }

    fn connect(&mut self, world: &mut World) -> Option<u64> {
        let Some(link) = world.connect(self.number) else {
            self.done = true;
            return None;
        };
        // Through a narrow pipe every byte is a turn.
        let flood_bytes = self.flood_bytes.min(world.links[link].pipe_bytes as u64 * PIPES_OF_A_FLOOD);
        self.life = Some(Life {
            link,
            manner: Manner::new(self.kind, flood_bytes, self.idle_us, self.buffer_bytes, &mut self.random),
            expect: Expect::new(self.buffer_bytes),
            out: Vec::new(),
            at: 0,
            began_us: world.clock_us,
            asked_us: None,
            said_all: false,
            broken: false,
            ended_us: None,
            got: 0,
        });
        Some(self.random.spread(2_000))
    }
}

impl Life {
    fn step(&mut self, agent: &mut Agent, world: &mut World) -> Option<u64> {
        if let Some(ended_us) = self.ended_us {
            return self.cling(ended_us, agent, world);
        }
        let (before, awaited) = (self.got, self.awaits_reply());
        let reads = world.clock_us >= self.began_us + self.manner.reads_after_us;
        if reads && !self.read(agent, world) {
            return self.cling(world.clock_us, agent, world);
        }
        if self.must_leave(world) {
            return None;
        }
        if awaited && !self.awaits_reply() {
            // It thinks.
            return Some(agent.random.within(1, self.manner.pace_us));
        }
        let wrote = self.write(agent, world) && !self.awaits_reply();
        if wrote || (self.manner.is_slow_reader() && self.got > before) {
            return Some(agent.random.within(1, self.manner.pace_us));
        }
        // There is nothing to do before the server did something, or before it is time to read.
        agent.waits = true;
        match reads {
            true => Some(PATIENCE_US),
            false => Some(self.began_us + self.manner.reads_after_us - world.clock_us),
        }
    }

    /// Reads; `false` when the server's end came.
    fn read(&mut self, agent: &mut Agent, world: &mut World) -> bool {
        loop {
            match world.client_read(self.link, self.manner.read_bytes) {
                Read::Bytes(bytes) => {
                    self.got += bytes.len() as u64;
                    self.expect.got(&bytes);
                    if self.manner.is_slow_reader() {
                        break;
                    }
                }
                Read::Nothing => break,
                Read::End => {
                    self.check_end(agent, world);
                    self.ended_us = Some(world.clock_us);
                    return false;
                }
                Read::Reset => {
                    self.check_reset(world);
                    self.ended_us = Some(world.clock_us);
                    self.broken = true;
                    return false;
                }
            }
        }
        if let Some(asked_us) = self.asked_us
            && self.expect.is_answered()
        {
            self.asked_us = None;
            if self.manner.is_quick && world.resumed_us < asked_us {
                world.latencies_us.push(world.clock_us - asked_us);
                world.trace(|| format!("link {} was answered in {} µs", self.link, world.clock_us - asked_us));
            }
        }
        true
    }

    fn awaits_reply(&self) -> bool {
        self.manner.in_turns && self.asked_us.is_some()
    }

    /// Whether it goes without a word now.
    fn must_leave(&mut self, world: &mut World) -> bool {
        let sent = world.links[self.link].received;
        match self.manner.finish {
            Finish::Reset if self.said_all || sent >= self.manner.leaves_after => {
                world.client_reset(self.link);
                true
            }
            Finish::Close => self.said_all || sent >= self.manner.leaves_after,
            _ => false,
        }
    }

    /// Writes what the connection takes; says whether it took something.
    fn write(&mut self, agent: &mut Agent, world: &mut World) -> bool {
        if self.broken || self.said_all || self.awaits_reply() {
            return false;
        }
        if self.at == self.out.len() {
            self.out.clear();
            self.at = 0;
            self.manner.next(&mut self.out, &mut agent.random);
        }
        let rest = &self.out[self.at..];
        let piece = &rest[..rest.len().min(agent.random.spread(self.manner.write_bytes) as usize)];
        let Some(count) = world.client_write(self.link, piece) else {
            self.broken = true;
            return false;
        };
        self.expect.sent(&piece[..count]);
        self.at += count;
        if self.at == self.out.len() {
            self.asked_us = Some(world.clock_us);
            self.said_all = self.manner.is_done();
            if self.said_all && self.manner.finish == Finish::End {
                world.client_end(self.link);
            }
        }
        count > 0 && !self.said_all
    }

    /// The server's end came: leaves, at once or later.
    fn cling(&mut self, ended_us: u64, agent: &mut Agent, world: &mut World) -> Option<u64> {
        if world.clock_us >= ended_us + self.manner.clings_us {
            return None;
        }
        if !self.broken && !world.links[self.link].up_end && world.client_write(self.link, b"more\n").is_none() {
            return None;
        }
        Some(agent.random.spread(self.manner.clings_us))
    }

    /// The server ended its stream: nothing that it owed may be missing.
    fn check_end(&self, agent: &Agent, world: &World) {
        let it = &world.links[self.link];
        assert_eq!(self.got, it.sent, "what was sent before the end came");
        let by_rule = it.shut_us.is_some() || it.reason.is_some_and(is_whole);
        if by_rule && it.served && !it.poisoned {
            assert!(!it.owes(), "the end came with {} of {} bytes", it.sent, it.tally.owed + it.pushed);
            assert_eq!(self.expect.pushes, it.pushes);
        }
        if by_rule && world.drain_due_us.is_none() && !it.poisoned {
            assert!(self.expect.is_answered(), "the end came before a reply");
            assert!(self.expect.is_over() || it.up_end, "the end came without need");
        }
        let quiet = world.scenario.faults.is_empty() && world.drain_due_us.is_none();
        if agent.kind == Kind::Flooder && quiet && agent.idle_us >= 1_000_000 {
            assert_ne!(it.reason, Some(CloseReason::IdleTimeout), "a flood was cut off");
        }
    }

    /// The connection was reset: only where rule 5 lets it happen.
    fn check_reset(&self, world: &World) {
        let it = &world.links[self.link];
        let lost = !it.served
            || !it.in_table
            || it.poisoned
            || it.reason.is_some_and(|reason| reason.is_timeout())
            || world.at_once;
        let failed = it.reason == Some(CloseReason::Failed);
        // How long the server lingered before it closed was checked when it did.
        assert!(lost || failed || it.shut_us.is_some(), "a reset: {it:?}");
    }
}

/// Whether everything was said before a close for this reason.
fn is_whole(reason: CloseReason) -> bool {
    matches!(reason, CloseReason::Protocol | CloseReason::PeerEnd | CloseReason::Drained)
}
