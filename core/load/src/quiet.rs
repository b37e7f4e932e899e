//! One quiet client beside clients that flood: how long does it wait?
//!
//! All clients run in one thread, and the quiet one is looked at after each single step of a flooder, so that its
//! times are the server's and not those of a thread that waits for this processor.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::dialer::Dialer;
use crate::failure::{Failure, Outcome};
use crate::latency::{Latency, Percentiles};
use crate::link::{Link, RECEIVE_BYTES};
use crate::opening::{Proof, open};
use crate::poller::Poller;
use crate::process::{Shares, Spent, Stretch};
use crate::progress::Progress;
use crate::script::Script;
use crate::system::allow_connections;
use crate::target::Target;

/// A flooder hands this much to the kernel at a time.
const FLOOD_BYTES: usize = 32 * 1024;

/// From a reply to the quiet client's next line.
const PAUSE: Duration = Duration::from_millis(1);

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Clients that send lines and read replies as fast as they can.
    pub flooders: u64,
    /// How long to measure.
    pub time: Duration,
    /// How long to flood before measuring.
    pub warm_up: Duration,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Clients that flooded.
    pub flooders: u64,
    /// Seconds that were measured.
    pub seconds: f64,
    /// Time from a line of the quiet client to its reply, in microseconds.
    pub latency_us: Percentiles,
    /// Replies a second to all flooders.
    pub flood_replies_per_second: f64,
    /// Lines that each flooder sent in the whole run; all were answered, so it was connected to the end.
    pub flood_lines: Vec<u64>,
    /// Replies to the best served flooder for one to the worst, in the measured time.
    pub flood_unfairness: Option<f64>,
    /// Nanoseconds of the server's CPU for a reply to a flooder.
    pub server_cpu_ns_per_reply: Option<f64>,
    /// Who used the processors: a latency is the server's own only where nobody waited for one.
    #[serde(flatten)]
    pub shares: Shares,
    /// Always 0: the first error ends the load with a failure.
    pub errors: u64,
}

struct Run {
    script: Script,
    poller: Poller,
    flooders: Vec<Link>,
    quiet: Link,
    /// When the quiet client sends next; none while it waits for its reply.
    next_line: Option<Instant>,
    latency: Latency,
    patience: Duration,
    flood_lines_at_once: u64,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

/// Runs it.
pub fn run(target: &Target, plan: &Plan, progress: &mut Progress) -> Outcome<Report> {
    allow_connections(plan.flooders + 1)?;
    let script = target.script();
    let mut poller = Poller::new()?;
    let mut dialer = Dialer::new(target, plan.flooders + 1)?;
    let mut links = Vec::new();
    open(&mut poller, &mut dialer, &script, 0..plan.flooders + 1, Proof::Greeting, progress, |_, link| {
        links.push(link);
        Ok(())
    })?;
    links.sort_by_key(Link::key);
    let quiet = links.pop().expect("one more than the flooders was opened");
    let line_bytes = script.lines().line_bytes() + 1;
    let mut run = Run {
        script,
        poller,
        flooders: links,
        quiet,
        next_line: Some(Instant::now()),
        latency: Latency::new(),
        patience: target.patience,
        flood_lines_at_once: FLOOD_BYTES.div_ceil(line_bytes) as u64,
        buffer: vec![0; RECEIVE_BYTES],
        scratch: Vec::new(),
    };
    run.flood(plan.warm_up, progress)?;
    run.latency = Latency::new();
    let before = run.answered();
    let stretch = Stretch::start(target.pid)?;
    run.flood(plan.time, progress)?;
    let spent = stretch.spent()?;
    let measured: Vec<u64> = run.answered().iter().zip(before).map(|(after, before)| after - before).collect();
    run.drain(progress)?;
    Ok(run.report(plan, spent, &measured))
}

impl Run {
    fn answered(&self) -> Vec<u64> {
        self.flooders.iter().map(|link| link.replies.answered()).collect()
    }

    fn flood(&mut self, time: Duration, progress: &mut Progress) -> Outcome<()> {
        let until = Instant::now() + time;
        let mut last_event = Instant::now();
        while Instant::now() < until {
            for index in 0..self.flooders.len() {
                let link = &mut self.flooders[index];
                if link.is_flushed() {
                    let now = Instant::now();
                    link.send_lines(&self.poller, &self.script, self.flood_lines_at_once, &mut self.scratch, now)?;
                }
                self.look_at_quiet()?;
            }
            let wait = if self.flooders.iter().any(Link::is_flushed) {
                Duration::ZERO
            } else {
                let now = Instant::now();
                let next = self.next_line.unwrap_or(until).min(until);
                next.saturating_duration_since(now)
            };
            if self.turn(wait)? > 0 {
                last_event = Instant::now();
            } else if last_event.elapsed() >= self.patience {
                let what = "neither the quiet client nor a flooder gets a reply".into();
                return Err(Failure::Stalled { waited: self.patience, what });
            }
            progress.show(|| format!("{} replies to the quiet client", self.quiet.replies.answered()));
        }
        Ok(())
    }

    /// What is sent must be answered, by everyone.
    fn drain(&mut self, progress: &mut Progress) -> Outcome<()> {
        self.next_line = None;
        while !(self.flooders.iter().all(Link::is_answered) && self.quiet.is_answered()) {
            if self.turn(self.patience)? == 0 {
                let what = "lines of the flooders or the quiet client are not answered".into();
                return Err(Failure::Stalled { waited: self.patience, what });
            }
        }
        progress.clear();
        Ok(())
    }

    /// One wait and what it brings.
    fn turn(&mut self, wait: Duration) -> Outcome<usize> {
        let count = self.poller.wait(wait)?;
        // Before any flooder: its time is what counts.
        self.look_at_quiet()?;
        for index in 0..count {
            let ready = self.poller.ready(index);
            let Some(link) = self.flooders.get_mut(ready.key as usize) else { continue };
            if ready.writable {
                link.flush(&self.poller)?;
            }
            if ready.readable {
                link.receive_replies(&self.script, &mut self.buffer)?;
            }
            self.look_at_quiet()?;
        }
        Ok(count)
    }

    /// Takes the quiet client's reply if it is there, sends its next line if it is time.
    fn look_at_quiet(&mut self) -> Outcome<()> {
        match self.next_line {
            None if !self.quiet.is_answered() => {
                self.quiet.receive_replies(&self.script, &mut self.buffer)?;
                if self.quiet.is_answered() {
                    let now = Instant::now();
                    self.latency.record(now - self.quiet.sent_at, 1);
                    self.next_line = Some(now + PAUSE);
                }
            }
            Some(time) if Instant::now() >= time => {
                self.next_line = None;
                let now = Instant::now();
                self.quiet.send_lines(&self.poller, &self.script, 1, &mut self.scratch, now)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn report(&self, plan: &Plan, spent: Spent, measured: &[u64]) -> Report {
        let replies = measured.iter().sum();
        let unfairness = match (measured.iter().max(), measured.iter().min()) {
            (Some(&best), Some(&worst)) if worst > 0 => Some(best as f64 / worst as f64),
            _ => None,
        };
        Report {
            flooders: plan.flooders,
            seconds: spent.wall.as_secs_f64(),
            latency_us: self.latency.percentiles(),
            flood_replies_per_second: spent.rate(replies),
            flood_lines: self.answered(),
            flood_unfairness: unfairness,
            server_cpu_ns_per_reply: spent.server_ns_each(replies),
            shares: spent.shares,
            errors: 0,
        }
    }
}
