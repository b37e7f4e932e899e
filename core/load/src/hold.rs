//! Very many connections, held open: what each costs, and that each is served.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use serde::Serialize;

use crate::dialer::Dialer;
use crate::failure::{Failure, Outcome};
use crate::latency::{Latency, Percentiles};
use crate::link::{Link, RECEIVE_BYTES};
use crate::opening::{Proof, open};
use crate::poller::Poller;
use crate::process::{Memory, Stretch, descriptors};
use crate::progress::Progress;
use crate::script::Script;
use crate::system::{KernelMemory, allow_connections};
use crate::target::Target;

/// Held connections that are looked at in one poll(2).
const SWEEP: usize = 4096;

/// Between two looks at whether the server has seen all connections end.
const LOOK: Duration = Duration::from_millis(20);

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Connections to open and hold.
    pub connections: u64,
    /// How many of them to probe with a further line at the end.
    pub probes: u64,
    /// Which ones: the same seed probes the same.
    pub seed: u64,
    /// How long to hold before the probes.
    pub time: Duration,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Connections that were opened, each with one answered line, and held.
    pub connections: u64,
    /// Seconds that opening took.
    pub open_seconds: f64,
    /// Nanoseconds of the server's CPU to accept, greet and answer one.
    pub server_cpu_ns_per_connection: Option<f64>,
    /// The server's CPU time while all were only held, in milliseconds.
    pub server_cpu_ms_while_held: Option<f64>,
    /// For how many seconds they were held.
    pub held_seconds: f64,
    /// The server's memory before; one connection was served already.
    pub memory_before: Option<Memory>,
    /// The server's memory with all connections.
    pub memory_held: Option<Memory>,
    /// The server's memory after all connections have ended.
    pub memory_after: Option<Memory>,
    /// Bytes of resident memory in user space for a connection.
    pub rss_bytes_per_connection: Option<f64>,
    /// The part of it that is the server's alone.
    pub private_bytes_per_connection: Option<f64>,
    /// The part of it that is heap and stack.
    pub anonymous_bytes_per_connection: Option<f64>,
    /// Bytes of the kernel's objects for a connection; on one machine that is both ends.
    pub kernel_slab_bytes_per_connection: f64,
    /// Bytes of the kernel's socket buffers for a connection.
    pub kernel_buffer_bytes_per_connection: f64,
    /// Held connections that were picked at random and answered a further line.
    pub probed: u64,
    /// The seed of the pick.
    pub seed: u64,
    /// Nanoseconds of the server's CPU for the reply to a probe, among all that are held.
    pub server_cpu_ns_per_probe: Option<f64>,
    /// Time from line to reply of the probes, in microseconds.
    pub probe_latency_us: Percentiles,
    /// Always 0: the first error ends the load with a failure.
    pub errors: u64,
}

/// Runs it.
pub fn run(target: &Target, plan: &Plan, progress: &mut Progress) -> Outcome<Report> {
    if plan.connections == 0 {
        return Err(Failure::Refused("there is no connection to hold".into()));
    }
    let memory = || target.pid.map(Memory::of).transpose();
    let script = target.script();
    // One more, so that what a server needs for its first connection is not counted to the others.
    let first = plan.connections;
    allow_connections(plan.connections + 1)?;
    let mut dialer = Dialer::new(target, plan.connections + 1)?;
    let mut poller = Poller::new()?;
    let mut held: Vec<Option<OwnedFd>> = Vec::new();
    held.resize_with(plan.connections as usize + 1, || None);
    let mut park = |poller: &Poller, link: Link| {
        let key = link.key() as usize;
        held[key] = Some(link.park(poller)?);
        Ok(())
    };
    open(&mut poller, &mut dialer, &script, first..first + 1, Proof::Line, progress, &mut park)?;
    // Not earlier: a server may open what it needs only after it has said that it listens.
    let descriptors_first = target.pid.map(descriptors).transpose()?;

    let (memory_before, kernel_before) = (memory()?, KernelMemory::now()?);
    let opening = Stretch::start(target.pid)?;
    open(&mut poller, &mut dialer, &script, 0..plan.connections, Proof::Line, progress, &mut park)?;
    let opened = opening.spent()?;
    let (memory_held, kernel_held) = (memory()?, KernelMemory::now()?);

    let holding = Stretch::start(target.pid)?;
    wait_and_show(plan.time, progress);
    let held_for = holding.spent()?;
    sweep(&held, progress)?;
    let probing = Stretch::start(target.pid)?;
    let probe_latency_us = probe(&mut poller, &script, &mut held, target.patience, plan, progress)?;
    let probed = probing.spent()?;
    end(held, target.patience, progress)?;
    let memory_after = match (target.pid, descriptors_first) {
        (Some(pid), Some(with_first)) => {
            wait_until_closed(pid, with_first - 1, target.patience, progress)?;
            memory()?
        }
        _ => None,
    };

    let each = |part: fn(Memory) -> u64| {
        let (before, held) = (memory_before?, memory_held?);
        Some((part(held) as f64 - part(before) as f64) / plan.connections as f64)
    };
    let kernel_each = |part: fn(KernelMemory) -> u64| {
        (part(kernel_held) as f64 - part(kernel_before) as f64) / plan.connections as f64
    };
    Ok(Report {
        connections: plan.connections,
        open_seconds: opened.wall.as_secs_f64(),
        server_cpu_ns_per_connection: opened.server_ns_each(plan.connections),
        server_cpu_ms_while_held: held_for.server.map(|time| time.as_secs_f64() * 1000.0),
        held_seconds: held_for.wall.as_secs_f64(),
        memory_before,
        memory_held,
        memory_after,
        rss_bytes_per_connection: each(|memory| memory.rss),
        private_bytes_per_connection: each(|memory| memory.private),
        anonymous_bytes_per_connection: each(|memory| memory.anonymous),
        kernel_slab_bytes_per_connection: kernel_each(|memory| memory.slab),
        kernel_buffer_bytes_per_connection: kernel_each(|memory| memory.tcp_buffers),
        probed: probe_latency_us.count,
        seed: plan.seed,
        server_cpu_ns_per_probe: probed.server_ns_each(probe_latency_us.count),
        probe_latency_us,
        errors: 0,
    })
}

fn wait_and_show(time: Duration, progress: &mut Progress) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now())
        && !left.is_zero()
    {
        progress.show(|| format!("holding for {:.0} s more", left.as_secs_f64()));
        thread::sleep(left.min(Duration::from_millis(200)));
    }
    progress.clear();
}

/// None of the held connections may have an end, an error or bytes to receive.
fn sweep(held: &[Option<OwnedFd>], progress: &mut Progress) -> Outcome<()> {
    for (index, part) in held.chunks(SWEEP).enumerate() {
        let mut polled: Vec<PollFd<'_>> =
            part.iter().flatten().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        let count = loop {
            match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                Err(Errno::INTR) => {}
                answer => break answer.map_err(|error| Failure::io("poll", error))?,
            }
        };
        if count > 0 {
            let at = polled.iter().position(|polled| !polled.revents().is_empty()).unwrap_or(0);
            let connection = index * SWEEP + at;
            let why = format!(
                "the server sent to or ended {count} of {} held connections, first connection {connection}; \
                 is its idle limit shorter than this load?",
                polled.len()
            );
            return Err(Failure::Refused(why));
        }
        progress.show(|| format!("{} held connections are as they were", index * SWEEP + part.len()));
    }
    progress.clear();
    Ok(())
}

/// A second line on connections that are picked at random, one after the other.
fn probe(
    poller: &mut Poller,
    script: &Script,
    held: &mut [Option<OwnedFd>],
    patience: Duration,
    plan: &Plan,
    progress: &mut Progress,
) -> Outcome<Percentiles> {
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let amount = plan.probes.min(plan.connections) as usize;
    let mut picked = random.choose_multiple(0..plan.connections, amount);
    random.shuffle(&mut picked);
    let mut latency = Latency::new();
    let (mut buffer, mut scratch) = (vec![0; RECEIVE_BYTES], Vec::new());
    for (done, key) in picked.into_iter().enumerate() {
        let place = &mut held[key as usize];
        let Some(socket) = place.take() else { continue };
        let mut link = Link::unpark(poller, socket, script, key, 1)?;
        let start = Instant::now();
        link.send_lines(poller, script, 1, &mut scratch, start)?;
        while !link.is_answered() {
            if poller.wait(patience)? == 0 {
                let what = format!("held connection {key} does not answer");
                return Err(Failure::Stalled { waited: patience, what });
            }
            link.receive_replies(script, &mut buffer)?;
        }
        latency.record(start.elapsed(), 1);
        *place = Some(link.park(poller)?);
        progress.show(|| format!("{done} of {amount} connections probed"));
    }
    progress.clear();
    Ok(latency.percentiles())
}

/// Ends all connections in good order: our side first, then the server's.
///
/// Some at a time. A million that are closed at once would be orphans with a FIN on its way each, for which a kernel has
/// neither the queue nor the memory, and then the server never hears of some of them.
fn end(held: Vec<Option<OwnedFd>>, patience: Duration, progress: &mut Progress) -> Outcome<()> {
    let mut held = held.into_iter().flatten().enumerate().peekable();
    while held.peek().is_some() {
        let part: Vec<_> = held.by_ref().take(SWEEP).collect();
        for (_, socket) in &part {
            shutdown(socket, Shutdown::Write)
                .map_err(|error| Failure::io("cannot end a held connection", error))?;
        }
        for (index, socket) in part {
            wait_for_end(&socket, index, patience)?;
            progress.show(|| format!("{index} held connections have ended"));
        }
    }
    progress.clear();
    Ok(())
}

/// The server's end of stream, and nothing before it.
fn wait_for_end(socket: &OwnedFd, index: usize, patience: Duration) -> Outcome<()> {
    let failed = |error: Errno| Failure::io(format!("held connection {index} does not end in good order"), error);
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    loop {
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => {
                let what = format!("the server does not end held connection {index}");
                return Err(Failure::Stalled { waited: patience, what });
            }
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    match recv(socket, &mut [0; 1], RecvFlags::empty()).map_err(failed)? {
        (_, 0) => Ok(()),
        _ => Err(Failure::Refused(format!("the server sent something at the end of held connection {index}"))),
    }
}

/// Waits until process `pid` has closed what it opened since it had `before` descriptors.
pub(crate) fn wait_until_closed(pid: u32, before: u64, patience: Duration, progress: &mut Progress) -> Outcome<()> {
    let mut last = u64::MAX;
    let mut last_change = Instant::now();
    loop {
        let now = descriptors(pid)?;
        if now <= before {
            progress.clear();
            return Ok(());
        }
        if now != last {
            (last, last_change) = (now, Instant::now());
        } else if last_change.elapsed() >= patience {
            let what = format!("the server keeps {} descriptors of connections that ended", now - before);
            return Err(Failure::Stalled { waited: patience, what });
        }
        progress.show(|| format!("{} connections are still to end", now - before));
        thread::sleep(LOOK);
    }
}
