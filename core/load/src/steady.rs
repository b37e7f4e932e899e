//! The steady load: so many connections, so many lines in flight on each, for so long.
//!
//! The lines of a connection go out as one batch, and the next batch when all of them are answered, as pipelining
//! clients do. So a server gets the same reads whichever server it is, and figures can be compared.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::dialer::Dialer;
use crate::failure::{Failure, Outcome};
use crate::latency::{Latency, Percentiles};
use crate::link::{Link, RECEIVE_BYTES, Received};
use crate::opening::{Proof, open};
use crate::poller::Poller;
use crate::process::{Shares, Spent, Stretch};
use crate::progress::Progress;
use crate::script::Script;
use crate::system::allow_connections;
use crate::target::Target;

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Connections that send.
    pub connections: u64,
    /// Lines in flight on each.
    pub depth: u64,
    /// Connections beside them that only stay open.
    pub idle: u64,
    /// How long to measure at most.
    pub time: Duration,
    /// Measured replies after which to stop earlier.
    pub replies: Option<u64>,
    /// How long to send before measuring.
    pub warm_up: Duration,
    /// All connections send together: a new round starts when all are answered.
    pub in_step: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Connections that sent.
    pub connections: u64,
    /// Lines in flight on each.
    pub depth: u64,
    /// Bytes of a line without its LF.
    pub line_bytes: u64,
    /// Connections beside them that only stayed open.
    pub idle: u64,
    /// Seconds that were measured.
    pub seconds: f64,
    /// Replies in that time.
    pub replies: u64,
    /// All replies, with those of opening, warm-up and end: what a count of system calls is divided by.
    pub replies_whole_run: u64,
    /// Replies a second.
    pub replies_per_second: f64,
    /// Nanoseconds of the server's CPU for a reply.
    pub server_cpu_ns_per_reply: Option<f64>,
    /// Who used the processors.
    #[serde(flatten)]
    pub shares: Shares,
    /// Time from sending a line's batch to having its reply, in microseconds.
    pub latency_us: Percentiles,
    /// Wrong bytes, ended connections: always 0, as the first one ends the load with a failure.
    pub errors: u64,
}

/// Which part of the run it is.
enum Phase {
    WarmUp {
        until: Instant,
    },
    Measure {
        until: Instant,
        since: Stretch,
    },
    /// No new lines; what is in flight is still to be answered and checked.
    Drain {
        spent: Spent,
    },
}

struct Run<'a> {
    plan: &'a Plan,
    script: Script,
    poller: Poller,
    links: Vec<Link>,
    /// Lines in flight on all connections.
    in_flight: u64,
    /// Counted in the measured part.
    replies: u64,
    replies_whole_run: u64,
    latency: Latency,
    scratch: Vec<u8>,
}

/// Runs the load.
pub fn run(target: &Target, plan: &Plan, progress: &mut Progress) -> Outcome<Report> {
    if plan.connections == 0 || plan.depth == 0 {
        return Err(Failure::Refused("a load needs a connection and a line in flight".into()));
    }
    let all = plan.connections + plan.idle;
    allow_connections(all)?;
    let mut run = Run {
        plan,
        script: target.script(),
        poller: Poller::new()?,
        links: Vec::with_capacity(plan.connections as usize),
        in_flight: 0,
        replies: 0,
        replies_whole_run: 0,
        latency: Latency::new(),
        scratch: Vec::new(),
    };
    let mut dialer = Dialer::new(target, all)?;
    let mut links = Vec::with_capacity(all as usize);
    open(&mut run.poller, &mut dialer, &run.script, 0..all, Proof::Greeting, progress, |_, link| {
        links.push(link);
        Ok(())
    })?;
    // They open in any order; an event finds its link by key.
    links.sort_by_key(Link::key);
    run.replies_whole_run = links.iter().map(|link| link.replies.answered()).sum();
    let idle = links.split_off(plan.connections as usize);
    run.links = links;
    let spent = run.drive(target, progress)?;
    for link in idle.iter().chain(&run.links) {
        nothing_more(link)?;
    }
    Ok(run.report(target, spent))
}

/// Nothing may have come on a connection whose every line is answered.
fn nothing_more(link: &Link) -> Outcome<()> {
    match link.receive(&mut [0; 64])? {
        Received::Nothing => Ok(()),
        Received::End => Err(link.closed()),
        Received::Bytes(bytes) => Err(Failure::Unasked { connection: link.key(), came: bytes.to_vec() }),
    }
}

impl Run<'_> {
    fn drive(&mut self, target: &Target, progress: &mut Progress) -> Outcome<Spent> {
        let mut buffer = vec![0; RECEIVE_BYTES];
        let start = Instant::now();
        let mut phase = Phase::WarmUp { until: start + self.plan.warm_up };
        self.start_round(start)?;
        let mut last_reply = start;
        loop {
            let count = self.poller.wait(target.patience)?;
            for index in 0..count {
                self.serve(index, &phase, &mut buffer)?;
            }
            let now = Instant::now();
            if count > 0 {
                last_reply = now;
            } else if now - last_reply >= target.patience {
                let what = format!("{} lines in flight are not answered", self.in_flight);
                return Err(Failure::Stalled { waited: target.patience, what });
            }
            progress.show(|| format!("{} replies", self.replies_whole_run));
            phase = match phase {
                Phase::WarmUp { until } if now >= until => {
                    Phase::Measure { until: now + self.plan.time, since: Stretch::start(target.pid)? }
                }
                Phase::Measure { until, since } if now >= until || self.has_enough() => {
                    Phase::Drain { spent: since.spent()? }
                }
                other => other,
            };
            if let Phase::Drain { spent } = phase
                && self.in_flight == 0
            {
                progress.clear();
                return Ok(spent);
            }
            // In step, the round's end is seen here and not within it, so that all send together.
            if self.plan.in_step && self.in_flight == 0 {
                self.start_round(now)?;
            }
        }
    }

    fn has_enough(&self) -> bool {
        self.plan.replies.is_some_and(|enough| self.replies >= enough)
    }

    fn start_round(&mut self, now: Instant) -> Outcome<()> {
        for link in &mut self.links {
            link.send_lines(&self.poller, &self.script, self.plan.depth, &mut self.scratch, now)?;
            self.in_flight += self.plan.depth;
        }
        Ok(())
    }

    fn serve(&mut self, index: usize, phase: &Phase, buffer: &mut [u8]) -> Outcome<()> {
        let ready = self.poller.ready(index);
        let Some(link) = self.links.get_mut(ready.key as usize) else {
            let why = format!("the server sent to or ended connection {}, which was to stay idle", ready.key);
            return Err(Failure::Refused(why));
        };
        if ready.writable {
            link.flush(&self.poller)?;
        }
        if !ready.readable {
            return Ok(());
        }
        let completed = link.receive_replies(&self.script, buffer)?;
        let now = Instant::now();
        self.in_flight -= completed;
        self.replies_whole_run += completed;
        if matches!(phase, Phase::Measure { .. }) {
            self.latency.record(now - link.sent_at, completed);
            self.replies += completed;
        }
        if link.is_answered() && !self.plan.in_step && !matches!(phase, Phase::Drain { .. }) {
            link.send_lines(&self.poller, &self.script, self.plan.depth, &mut self.scratch, now)?;
            self.in_flight += self.plan.depth;
        }
        Ok(())
    }

    fn report(&self, target: &Target, spent: Spent) -> Report {
        Report {
            connections: self.plan.connections,
            depth: self.plan.depth,
            line_bytes: target.line_bytes as u64,
            idle: self.plan.idle,
            seconds: spent.wall.as_secs_f64(),
            replies: self.replies,
            replies_whole_run: self.replies_whole_run,
            replies_per_second: spent.rate(self.replies),
            server_cpu_ns_per_reply: spent.server_ns_each(self.replies),
            shares: spent.shares,
            latency_us: self.latency.percentiles(),
            errors: 0,
        }
    }
}
