//! Measures one row: rounds that alternate, and what comes of them.

use std::cell::Cell;
use std::time::Duration;

use evserver_load::failure::{Failure, Outcome};
use evserver_load::process::Shares;
use evserver_load::progress::Progress;
use evserver_load::{churn, hold, quiet, steady};
use serde::Serialize;

use crate::cpus::Cpus;
use crate::rows::{Goal, Load, Row};
use crate::server::Server;

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Rounds for each server.
    pub count: u32,
    /// Seconds that a round measures, where it is bounded by time.
    pub time: Duration,
    /// Processors.
    pub cpus: Cpus,
}

/// Before each measuring: enough to fill caches and to let the kernel's clocks and buffers settle.
const WARM_UP: Duration = Duration::from_millis(300);

/// Held connections that are probed a round.
const PROBES: u64 = 1000;

/// A row with its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Every round of the subject.
    pub subject: Vec<f64>,
    /// Every round of the reference; empty without one.
    pub reference: Vec<f64>,
    /// Median of the subject.
    pub subject_median: f64,
    /// Median of the reference.
    pub reference_median: Option<f64>,
    /// What the goal is about: the ratio of the medians, or the subject's median.
    pub value: f64,
    /// The least and the largest of it over the rounds.
    pub spread: (f64, f64),
    /// Whether the goal is reached.
    pub reached: bool,
    /// The most that a server or the load waited for its processor in a round, as a part of the time: other work's share.
    pub disturbed: f64,
}

/// Measures `row` with the two servers.
pub fn measure(
    row: &Row,
    subject: &Server,
    reference: Option<&Server>,
    rounds: Rounds,
    progress: &mut Progress,
) -> Outcome<Measured> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let disturbed = Cell::new(0.0);
    let one = |load, server| -> Outcome<f64> {
        let (figure, waited) = figure(load, server, rounds)?;
        disturbed.set(waited.max(disturbed.get()));
        Ok(figure)
    };
    for round in 0..rounds.count {
        progress.show_now(format!("{}: round {} of {}", row.name, round + 1, rounds.count));
        let mut subject_round = || -> Outcome<()> {
            ours.push(one(row.subject.load, subject)?);
            Ok(())
        };
        let mut reference_round = || -> Outcome<()> {
            if let (Some(side), Some(server)) = (row.reference, reference) {
                theirs.push(one(side.load, server)?);
            }
            Ok(())
        };
        // Who is first changes too, so that a steady drift favours neither.
        if round % 2 == 0 {
            subject_round()?;
            reference_round()?;
        } else {
            reference_round()?;
            subject_round()?;
        }
    }
    progress.clear();
    Ok(Measured { disturbed: disturbed.get(), ..evaluate(row.goal, ours, theirs) })
}

fn evaluate(goal: Goal, subject: Vec<f64>, reference: Vec<f64>) -> Measured {
    let subject_median = median(&subject);
    let reference_median = (!reference.is_empty()).then(|| median(&reference));
    let value = reference_median.map_or(subject_median, |reference| subject_median / reference);
    let each: Vec<f64> = if reference.is_empty() {
        subject.clone()
    } else {
        subject.iter().zip(&reference).map(|(ours, theirs)| ours / theirs).collect()
    };
    let spread = (each.iter().copied().fold(f64::INFINITY, f64::min), each.iter().copied().fold(0.0, f64::max));
    let reached = goal.is_reached_by(value);
    Measured { subject, reference, subject_median, reference_median, value, spread, reached, disturbed: 0.0 }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// One round with one server, which is started for it and ends with it: the figure, and how disturbed it is.
fn figure(load: Load, server: &Server, rounds: Rounds) -> Outcome<(f64, f64)> {
    let running = server.start(rounds.cpus)?;
    let (target, time) = (&running.target, rounds.time);
    // Progress is shown a round at a time: no line of a shorter piece of work comes between.
    let progress = &mut Progress::silent();
    let (found, waited) = match load {
        Load::Steady { connections, depth, idle } => {
            let plan =
                steady::Plan { connections, depth, idle, time, replies: None, warm_up: WARM_UP, in_step: false };
            let report = steady::run(target, &plan, progress)?;
            (report.server_cpu_ns_per_reply, waited(&report.shares))
        }
        Load::Churn { connections, concurrency, cpu } => {
            let plan = churn::Plan { connections, concurrency, end: churn::End::HalfClose };
            let report = churn::run(target, &plan, progress)?;
            let rate = Some(report.connections_per_second);
            (if cpu { report.server_cpu_ns_per_connection } else { rate }, waited(&report.shares))
        }
        Load::Quiet { flooders } => {
            let plan = quiet::Plan { flooders, time, warm_up: WARM_UP };
            let report = quiet::run(target, &plan, progress)?;
            (Some(report.latency_us.p99 / 1000.0), waited(&report.shares))
        }
        Load::Hold { connections } => {
            let plan = hold::Plan { connections, probes: PROBES, seed: 1, time: Duration::ZERO };
            // Bytes are the same however long it took.
            (hold::run(target, &plan, progress)?.rss_bytes_per_connection, 0.0)
        }
    };
    let found = found.ok_or_else(|| Failure::Refused("a round without a single reply".into()))?;
    Ok((found, waited))
}

/// The larger part of the time that either side waited for its processor.
fn waited(shares: &Shares) -> f64 {
    shares.server_waited_share.unwrap_or(0.0).max(shares.load_waited_share.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_ratio_is_of_the_medians_and_its_spread_of_the_rounds() {
        let found = evaluate(Goal::RatioAtMost(1.2), vec![10.0, 12.0, 50.0], vec![10.0, 10.0, 40.0]);
        assert_eq!((found.value, found.spread, found.reached), (1.2, (1.0, 1.25), true));
        let found = evaluate(Goal::RatioAtLeast(0.9), vec![8.0], vec![10.0]);
        assert_eq!((found.value, found.reached), (0.8, false));
    }

    #[test]
    fn without_a_reference_the_figure_itself_counts() {
        let found = evaluate(Goal::AtMost(192.0), vec![100.0, 200.0, 300.0], vec![]);
        assert_eq!((found.value, found.spread, found.reached), (200.0, (100.0, 300.0), false));
        assert_eq!(found.reference_median, None);
    }

    #[test]
    fn no_figure_reaches_no_goal() {
        assert!(!evaluate(Goal::AtMost(1.0), vec![], vec![]).reached);
    }
}
