//! Measures one row: rounds that alternate, and what comes of them.

use std::cell::Cell;
use std::time::Duration;

use evserver_load::cpus::Cpus;
use evserver_load::failure::Outcome;
use evserver_load::progress::Progress;
use serde::Serialize;

use crate::figure::figure;
use crate::roles::Player;
use crate::rows::{Goal, Role, Row, Side};

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Rounds for each server.
    pub count: u32,
    /// Seconds that a round measures, where it is bounded by time.
    pub time: Duration,
    /// Processors.
    pub cpus: Cpus,
    /// Whether it is a smoke run, whose figures say nothing.
    pub quick: bool,
}

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
    /// What else the last round of each server had to say.
    pub notes: Vec<String>,
}

/// Measures `row` with those who take part.
pub fn measure(
    row: &Row,
    subject: &Player,
    reference: Option<&Player>,
    rounds: Rounds,
    progress: &mut Progress,
) -> Outcome<Measured> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let disturbed = Cell::new(0.0_f64);
    let mut notes = [None, None];
    let one = |side: Side, player, note: &mut Option<String>| -> Outcome<f64> {
        let found = figure(side.load, player, rounds)?;
        // Threads on one processor wait for each other: that says nothing of other work.
        let waited = if side.role == Role::Threads { 0.0 } else { found.server_waited };
        disturbed.set(disturbed.get().max(waited).max(found.load_waited));
        *note = found.note.map(|text| format!("{}: {text}", side.role.name()));
        Ok(found.value)
    };
    let [our_note, their_note] = &mut notes;
    let count = if row.subject.load.is_said_once() { 1 } else { rounds.count };
    for round in 0..count {
        progress.show_now(format!("{}: round {} of {}", row.name, round + 1, count));
        let mut subject_round = || -> Outcome<()> {
            ours.push(one(row.subject, subject, our_note)?);
            Ok(())
        };
        let mut reference_round = || -> Outcome<()> {
            if let (Some(side), Some(player)) = (row.reference, reference) {
                theirs.push(one(side, player, their_note)?);
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
    let notes = notes.into_iter().flatten().collect();
    Ok(Measured { disturbed: disturbed.get(), notes, ..evaluate(row.goal, ours, theirs) })
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
    let (disturbed, notes) = (0.0, Vec::new());
    Measured { subject, reference, subject_median, reference_median, value, spread, reached, disturbed, notes }
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
