//! Short connections, many one after the other: connect, greeting, one line, end.

use std::collections::HashMap;
use std::time::Instant;

use serde::Serialize;

use crate::dialer::Dialer;
use crate::failure::{Failure, Outcome};
use crate::hold::wait_until_closed;
use crate::latency::{Latency, Percentiles};
use crate::link::{Link, RECEIVE_BYTES, Received};
use crate::opening::{Proof, open};
use crate::poller::Poller;
use crate::process::{Memory, Shares, Spent, Stretch, descriptors};
use crate::progress::Progress;
use crate::script::{BYE, Mode, QUIT, Script};
use crate::system::allow_connections;
use crate::target::Target;

/// A twentieth of the connections more are opened first and not counted.
const WARM_UP_PART: u64 = 20;

/// Who ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `quit`, which the server answers with `bye` and its end of stream.
    Quit,
    /// The client's end of stream, which the server answers with its own: any echo does that.
    HalfClose,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Connections to count.
    pub connections: u64,
    /// Connections at the same time.
    pub concurrency: u64,
    /// How they end.
    pub end: End,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Connections that were counted.
    pub connections: u64,
    /// All connections that ended, with those before: what a count of system calls is divided by.
    pub connections_whole_run: u64,
    /// Connections at the same time.
    pub concurrency: u64,
    /// Seconds that they took.
    pub seconds: f64,
    /// Connections a second, from connect to the server's end of stream.
    pub connections_per_second: f64,
    /// Nanoseconds of the server's CPU for a connection.
    pub server_cpu_ns_per_connection: Option<f64>,
    /// Who used the processors.
    #[serde(flatten)]
    pub shares: Shares,
    /// Time from connect to the server's end of stream, in microseconds.
    pub latency_us: Percentiles,
    /// The server's memory after the connections that are not counted.
    pub memory_before: Option<Memory>,
    /// The server's memory after all of them ended.
    pub memory_after: Option<Memory>,
    /// Always 0: the first error ends the load with a failure.
    pub errors: u64,
}

/// A connection in its short life.
struct Short {
    link: Link,
    start: Instant,
    /// The line is answered and the end was said.
    ending: bool,
    /// Bytes of the farewell that came.
    farewell: usize,
}

struct Run<'a> {
    plan: &'a Plan,
    script: Script,
    poller: Poller,
    dialer: Dialer,
    alive: HashMap<u64, Short>,
    next_key: u64,
    scratch: Vec<u8>,
    latency: Latency,
}

/// Runs it.
pub fn run(target: &Target, plan: &Plan, progress: &mut Progress) -> Outcome<Report> {
    if plan.connections == 0 || plan.concurrency == 0 {
        return Err(Failure::Refused("there is no connection to make".into()));
    }
    if plan.end == End::Quit && target.mode != Mode::Numbered {
        return Err(Failure::Refused(
            "only the numbered echo knows quit: let connections end by half-close".into(),
        ));
    }
    allow_connections(plan.concurrency + 1)?;
    let warm_up = plan.connections.div_ceil(WARM_UP_PART);
    let memory = || target.pid.map(Memory::of).transpose();
    let mut run = Run {
        plan,
        script: target.script(),
        poller: Poller::new()?,
        dialer: Dialer::new(target, warm_up + plan.connections + 1)?,
        alive: HashMap::with_capacity(plan.concurrency as usize),
        next_key: 0,
        scratch: Vec::new(),
        latency: Latency::new(),
    };
    // Stays open all the time, so that what the server keeps open besides is known from a moment when it serves.
    let witness = warm_up + plan.connections;
    let mut witnesses = Vec::new();
    let Run { poller, dialer, script, .. } = &mut run;
    open(poller, dialer, script, witness..witness + 1, Proof::Line, progress, |poller, link| {
        witnesses.push(link.park(poller)?);
        Ok(())
    })?;
    let descriptors_before = target.pid.map(descriptors).transpose()?;
    run.make(warm_up, progress)?;
    run.latency = Latency::new();
    let memory_before = memory()?;
    let stretch = Stretch::start(target.pid)?;
    run.make(plan.connections, progress)?;
    let spent = stretch.spent()?;
    let memory_after = match (target.pid, descriptors_before) {
        (Some(pid), Some(before)) => {
            wait_until_closed(pid, before, target.patience, progress)?;
            memory()?
        }
        _ => None,
    };
    Ok(run.report(spent, memory_before, memory_after))
}

impl Run<'_> {
    /// Makes `count` connections and sees all of them end.
    fn make(&mut self, count: u64, progress: &mut Progress) -> Outcome<()> {
        let end = self.next_key + count;
        let mut buffer = vec![0; RECEIVE_BYTES];
        loop {
            while (self.alive.len() as u64) < self.plan.concurrency && self.next_key < end {
                self.dial()?;
            }
            if self.alive.is_empty() {
                progress.clear();
                return Ok(());
            }
            let ready = self.poller.wait(self.dialer.patience())?;
            if ready == 0 {
                let what = format!("{} short connections wait", self.alive.len());
                return Err(Failure::Stalled { waited: self.dialer.patience(), what });
            }
            for index in 0..ready {
                self.serve(index, &mut buffer)?;
            }
            progress.show(|| format!("{} of {count} connections made", count - (end - self.next_key)));
        }
    }

    fn dial(&mut self) -> Outcome<()> {
        let start = Instant::now();
        let mut link = Link::new(&self.poller, self.dialer.dial()?, &self.script, self.next_key)?;
        if !self.script.greets() {
            link.send_lines(&self.poller, &self.script, 1, &mut self.scratch, start)?;
        }
        self.alive.insert(self.next_key, Short { link, start, ending: false, farewell: 0 });
        self.next_key += 1;
        Ok(())
    }

    fn serve(&mut self, index: usize, buffer: &mut [u8]) -> Outcome<()> {
        let ready = self.poller.ready(index);
        let Some(short) = self.alive.get_mut(&ready.key) else {
            return Err(Failure::Refused(format!("an event on connection {}, which has ended", ready.key)));
        };
        if ready.writable {
            short.link.flush(&self.poller)?;
        }
        if !ready.readable {
            return Ok(());
        }
        if short.ending {
            if short.is_over(self.plan.end, buffer)? {
                self.latency.record(short.start.elapsed(), 1);
                if let Some(over) = self.alive.remove(&ready.key) {
                    // Closing alone would do if no child were ever started meanwhile: epoll tells of a socket as long
                    // as a copy of it is open; epoll(7), question 6.
                    over.link.park(&self.poller)?;
                }
            }
            return Ok(());
        }
        short.link.receive_replies(&self.script, buffer)?;
        if !short.link.replies.greeted() {
            return Ok(());
        }
        if short.link.sent == 0 {
            short.link.send_lines(&self.poller, &self.script, 1, &mut self.scratch, short.start)?;
        } else if short.link.is_answered() {
            short.ending = true;
            match self.plan.end {
                End::Quit => short.link.send(&self.poller, QUIT)?,
                End::HalfClose => short.link.shut_sending()?,
            }
        }
        Ok(())
    }

    fn report(&self, spent: Spent, memory_before: Option<Memory>, memory_after: Option<Memory>) -> Report {
        let connections = self.plan.connections;
        Report {
            connections,
            connections_whole_run: self.next_key,
            concurrency: self.plan.concurrency,
            seconds: spent.wall.as_secs_f64(),
            connections_per_second: spent.rate(connections),
            server_cpu_ns_per_connection: spent.server_ns_each(connections),
            shares: spent.shares,
            latency_us: self.latency.percentiles(),
            memory_before,
            memory_after,
            errors: 0,
        }
    }
}

impl Short {
    /// Receives the farewell, if one is due, and the end of stream: whether that is complete.
    fn is_over(&mut self, end: End, buffer: &mut [u8]) -> Outcome<bool> {
        let due: &[u8] = if end == End::Quit { BYE } else { b"" };
        match self.link.receive(buffer)? {
            Received::Nothing => Ok(false),
            Received::End if self.farewell == due.len() => Ok(true),
            Received::End => Err(self.link.closed()),
            Received::Bytes(bytes) if due[self.farewell..].starts_with(bytes) => {
                self.farewell += bytes.len();
                Ok(false)
            }
            Received::Bytes(bytes) => {
                let came = [&due[..self.farewell], bytes].concat();
                Err(Failure::Wrong { connection: self.link.key(), reply: 2, due: due.to_vec(), came })
            }
        }
    }
}
