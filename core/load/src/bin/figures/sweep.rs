//! Goes through numbers of connections with each server.

use std::collections::BTreeMap;
use std::time::Duration;

use evserver_load::cpus::Cpus;
use evserver_load::failure::{Failure, Outcome};
use evserver_load::progress::Progress;
use evserver_load::server::Server;
use evserver_load::target::Target;
use evserver_load::{hold, steady};

use crate::contestant::Contestant;
use crate::data::{Memory, Series, Sweep};

/// Connections that send beside the idle ones.
pub const ACTIVE: u64 = 64;

/// Before each measuring.
const WARM_UP: Duration = Duration::from_millis(300);

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Rounds for each server and size.
    pub count: u32,
    /// Seconds that a round measures.
    pub time: Duration,
    /// Processors.
    pub cpus: Cpus,
}

/// A load and what it gives.
pub struct Load<T> {
    /// For progress.
    pub name: &'static str,
    /// What to do with so many connections.
    pub run: fn(&Target, u64, Duration) -> Outcome<Option<T>>,
    /// By what rounds are put in order, to take the one in the middle.
    pub key: fn(&T) -> f64,
}

/// All connections send, one line in flight on each: nanoseconds of CPU a reply.
pub const ACTIVE_LOAD: Load<f64> =
    Load { name: "active", run: |target, connections, time| cpu(target, connections, 0, time), key: |cpu| *cpu };

/// Idle ones beside 64 that send.
pub const IDLE_LOAD: Load<f64> =
    Load { name: "idle", run: |target, idle, time| cpu(target, ACTIVE, idle, time), key: |cpu| *cpu };

/// Connections are held.
pub const HELD_LOAD: Load<Memory> =
    Load { name: "held", run: |target, connections, _| memory(target, connections), key: |memory| memory.total };

fn cpu(target: &Target, connections: u64, idle: u64, time: Duration) -> Outcome<Option<f64>> {
    let warm_up = WARM_UP.min(time);
    let plan = steady::Plan { connections, depth: 1, idle, time, replies: None, warm_up, in_step: false };
    Ok(steady::run(target, &plan, &mut Progress::silent())?.server_cpu_ns_per_reply)
}

fn memory(target: &Target, connections: u64) -> Outcome<Option<Memory>> {
    let plan = hold::Plan { connections, probes: connections.min(100), seed: 1, time: Duration::ZERO };
    let report = hold::run(target, &plan, &mut Progress::silent())?;
    let kernel_each = report.kernel_slab_bytes_per_connection + report.kernel_buffer_bytes_per_connection;
    let found = report.memory_held.zip(report.rss_bytes_per_connection);
    Ok(found.map(|(held, each)| Memory { total: held.rss as f64, each, kernel_each }))
}

/// Every size with every server that there is; a server that fails at one size is not asked for a larger one.
pub fn sweep<T: Copy>(
    load: &Load<T>,
    contestants: &[Contestant],
    sizes: &[u64],
    rounds: Rounds,
    progress: &mut Progress,
) -> Sweep<T> {
    let mut running: Vec<(Result<Server, String>, Series<T>)> = contestants
        .iter()
        .map(|contestant| {
            let series = Series { name: contestant.name.into(), points: BTreeMap::new(), stopped: None };
            (contestant.server(), series)
        })
        .collect();
    for &size in sizes {
        let mut found: Vec<Vec<T>> = running.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds.count {
            progress.show_now(format!(
                "{}: {size} connections, round {} of {}",
                load.name,
                round + 1,
                rounds.count
            ));
            for ((server, series), found) in running.iter_mut().zip(&mut found) {
                if series.stopped.is_some() {
                    continue;
                }
                match once(load, server, size, rounds) {
                    Ok(value) => found.push(value),
                    Err(why) => series.stopped = Some((size, why)),
                }
            }
        }
        for ((_, series), found) in running.iter_mut().zip(found) {
            if series.stopped.is_none()
                && let Some(middle) = middle(found, load.key)
            {
                series.points.insert(size, middle);
            }
        }
    }
    progress.clear();
    Sweep { sizes: sizes.to_vec(), series: running.into_iter().map(|(_, series)| series).collect() }
}

fn once<T>(load: &Load<T>, server: &Result<Server, String>, size: u64, rounds: Rounds) -> Result<T, String> {
    let server = server.as_ref().map_err(Clone::clone)?;
    let measured = || -> Outcome<T> {
        let running = server.start(rounds.cpus)?;
        let found = (load.run)(&running.target, size, rounds.time)?;
        found.ok_or_else(|| Failure::Refused("a round without a single reply".into()))
    };
    measured().map_err(|failure| failure.to_string())
}

/// The round in the middle; the lower of two.
fn middle<T: Copy>(mut rounds: Vec<T>, key: fn(&T) -> f64) -> Option<T> {
    rounds.sort_by(|one, other| key(one).total_cmp(&key(other)));
    rounds.get(rounds.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_in_the_middle_counts() {
        let key = |value: &f64| *value;
        assert_eq!(middle(vec![3.0, 1.0, 2.0], key), Some(2.0));
        assert_eq!(middle(vec![4.0, 1.0, 3.0, 2.0], key), Some(2.0));
        assert_eq!(middle(vec![], key), None);
    }
}
