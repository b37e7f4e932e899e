//! One round with one server: the figure.

use std::time::Duration;

use evserver_load::failure::{Failure, Outcome};
use evserver_load::framing::core_ratio;
use evserver_load::process::Shares;
use evserver_load::progress::Progress;
use evserver_load::script::Mode;
use evserver_load::server::Server;
use evserver_load::target::Target;
use evserver_load::{churn, hold, quiet, steady};

use crate::guest;
use crate::load::{Load, Request};
use crate::measure::Rounds;
use crate::roles::Player;
use crate::trace::{self, Amount};

/// Before each measuring: enough to fill caches and to let the kernel's clocks and buffers settle.
const WARM_UP: Duration = Duration::from_millis(300);

/// Held connections that are probed a round.
const PROBES: u64 = 1000;

/// Bytes of a value in Redis, as redis-benchmark has it by itself.
const VALUE_BYTES: usize = 3;

/// Where system calls are counted: rounds in step, or short connections, of the shorter run and of the longer one.
const COUNTED: (u64, u64) = (100, 600);

/// Longer than that takes; it ends by count.
const COUNTED_TIME: Duration = Duration::from_secs(300);

/// What a round gives.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The figure itself.
    pub value: f64,
    /// The part of the time that the server's threads waited for their processor; 0 where that changes nothing.
    pub server_waited: f64,
    /// The same of the load.
    pub load_waited: f64,
    /// What else is worth saying.
    pub note: Option<String>,
}

/// One round of `load` with `player`; a server is started for it and ended.
pub fn figure(load: Load, player: &Player, rounds: Rounds) -> Outcome<Figure> {
    match (player, load) {
        (Player::Server(server), _) => on_server(load, server, rounds),
        (Player::Core, Load::Framing { line_bytes }) => core_ratio(line_bytes).map(count),
        (Player::Guest(command), Load::Guest { connections }) => {
            rounds.cpus.be_both()?;
            guest::memory(command, connections)
        }
        _ => Err(Failure::Refused("no server to put a load on".into())),
    }
}

fn on_server(load: Load, server: &Server, rounds: Rounds) -> Outcome<Figure> {
    match load {
        Load::CallsAReply { connections } => calls_a_reply(server, rounds, connections),
        Load::CallsAConnection => calls_a_connection(server, rounds),
        _ => {
            let mut running = server.start(rounds.cpus)?;
            let found = on_target(load, &mut running.target, rounds.time)?;
            found.ok_or_else(|| Failure::Refused("a round without a single reply".into()))
        }
    }
}

/// The figures that a load generator can see.
fn on_target(load: Load, target: &mut Target, time: Duration) -> Outcome<Option<Figure>> {
    // Progress is shown a round at a time: no line of a shorter piece of work comes between.
    let progress = &mut Progress::silent();
    Ok(match load {
        Load::Steady { connections, depth, idle } => steady(target, connections, depth, idle, time)?,
        Load::Resp { connections, depth, request } => {
            target.mode = if request == Request::Ping { Mode::Ping } else { Mode::Get };
            target.line_bytes = VALUE_BYTES;
            steady(target, connections, depth, 0, time)?
        }
        Load::Churn { connections, concurrency, cpu } => {
            let plan = churn::Plan { connections, concurrency, end: churn::End::HalfClose };
            let report = churn::run(target, &plan, progress)?;
            let rate = Some(report.connections_per_second);
            let value = if cpu { report.server_cpu_ns_per_connection } else { rate };
            timed(value, &report.shares)
        }
        Load::AfterChurn { connections, concurrency } => {
            let plan = churn::Plan { connections, concurrency, end: end(target.mode) };
            let report = churn::run(target, &plan, progress)?;
            report.memory_before.zip(report.memory_after).map(|(before, after)| {
                let kib = |bytes| bytes / 1024;
                let note = format!(
                    "resident {} KiB before, {} KiB after; of it heap and stacks {} and {}",
                    kib(before.rss),
                    kib(after.rss),
                    kib(before.anonymous),
                    kib(after.anonymous)
                );
                Figure { note: Some(note), ..count(after.rss as f64 / before.rss as f64) }
            })
        }
        Load::Quiet { flooders } => {
            let plan = quiet::Plan { flooders, time, warm_up: WARM_UP };
            let report = quiet::run(target, &plan, progress)?;
            timed(Some(report.latency_us.p99 / 1000.0), &report.shares)
        }
        Load::Memory { connections } => {
            // Bytes are the same however long it took.
            held(target, connections)?.rss_bytes_per_connection.map(count)
        }
        // The load fails at the first connection that is not answered.
        Load::Held { connections } => {
            let report = held(target, connections)?;
            let note = format!(
                "opened in {:.1} s; {} of them probed again, p99 {:.2} ms; the kernel's part {:.0} bytes a \
                 connection, both ends",
                report.open_seconds,
                report.probed,
                report.probe_latency_us.p99 / 1000.0,
                report.kernel_slab_bytes_per_connection + report.kernel_buffer_bytes_per_connection
            );
            Some(Figure { note: Some(note), ..count(report.connections as f64) })
        }
        Load::CallsAReply { .. } | Load::CallsAConnection | Load::Framing { .. } | Load::Guest { .. } => None,
    })
}

fn steady(target: &Target, connections: u64, depth: u64, idle: u64, time: Duration) -> Outcome<Option<Figure>> {
    let plan = steady::Plan { connections, depth, idle, time, replies: None, warm_up: WARM_UP, in_step: false };
    let report = steady::run(target, &plan, &mut Progress::silent())?;
    Ok(timed(report.server_cpu_ns_per_reply, &report.shares))
}

fn held(target: &Target, connections: u64) -> Outcome<hold::Report> {
    let plan = hold::Plan { connections, probes: PROBES, seed: 1, time: Duration::ZERO };
    hold::run(target, &plan, &mut Progress::silent())
}

fn calls_a_reply(server: &Server, rounds: Rounds, connections: u64) -> Outcome<Figure> {
    let found = trace::each(server, rounds.cpus, |target, amount| {
        let replies = Some(connections * counted(amount));
        let (time, warm_up) = (COUNTED_TIME, Duration::ZERO);
        let plan = steady::Plan { connections, depth: 1, idle: 0, time, replies, warm_up, in_step: true };
        Ok(steady::run(target, &plan, &mut Progress::silent())?.replies_whole_run)
    })?;
    Ok(calls(found))
}

fn calls_a_connection(server: &Server, rounds: Rounds) -> Outcome<Figure> {
    let found = trace::each(server, rounds.cpus, |target, amount| {
        // One at a time, so that none shares another's wait.
        let plan = churn::Plan { connections: counted(amount), concurrency: 1, end: end(target.mode) };
        Ok(churn::run(target, &plan, &mut Progress::silent())?.connections_whole_run)
    })?;
    Ok(calls(found))
}

fn counted(amount: Amount) -> u64 {
    if amount == Amount::Less { COUNTED.0 } else { COUNTED.1 }
}

fn calls(each: trace::Each) -> Figure {
    let names: Vec<String> = each.by_name.iter().map(|(name, each)| format!("{name} {each:.2}")).collect();
    Figure { note: Some(names.join(", ")), ..count(each.total) }
}

/// Only the numbered echo knows `quit`.
fn end(mode: Mode) -> churn::End {
    if mode == Mode::Numbered { churn::End::Quit } else { churn::End::HalfClose }
}

fn count(value: f64) -> Figure {
    Figure { value, server_waited: 0.0, load_waited: 0.0, note: None }
}

fn timed(value: Option<f64>, shares: &Shares) -> Option<Figure> {
    let [server_waited, load_waited] =
        [shares.server_waited_share, shares.load_waited_share].map(|share| share.unwrap_or(0.0));
    value.map(|value| Figure { value, server_waited, load_waited, note: None })
}
