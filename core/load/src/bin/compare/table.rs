//! The table, in Markdown and JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::measure::{Measured, Rounds};
use crate::rows::{Goal, Row};

/// A row and what came of it.
#[derive(Debug)]
pub struct Line {
    /// The row.
    pub row: Row,
    /// What was found.
    pub found: Found,
}

/// What came of a row.
#[derive(Debug)]
pub enum Found {
    /// Its figures.
    Measured(Measured),
    /// Why nothing was tried.
    NotRun(String),
    /// What went wrong.
    Failed(String),
}

/// From here on other work on the machine is worth a remark beside a figure: latencies and rates suffer first.
const DISTURBED_MIN: f64 = 0.1;

/// The table as Markdown.
pub fn markdown(lines: &[Line], rounds: Rounds) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}\n", how(rounds));
    text.push_str("| case | what | figure | subject | reference | result (spread) | to reach | |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for Line { row, found } in lines {
        let load = row.subject.load;
        let goal = match row.goal {
            Goal::RatioAtMost(bound) => format!("≤ {bound:.2} × {}", reference_name(row)),
            Goal::RatioAtLeast(bound) => format!("≥ {bound:.2} × {}", reference_name(row)),
            Goal::Ratio => format!("shown beside {}", reference_name(row)),
            Goal::AtMost(bound) => format!("≤ {bound}"),
            Goal::AtLeast(bound) => format!("≥ {bound}"),
        };
        let _ = write!(text, "| {} | {} | {} |", row.name, row.what, load.unit());
        let _ = match found {
            Found::Measured(found) => {
                let places = load.places();
                let reference = found.reference_median.map_or("–".into(), |value| format!("{value:.places$}"));
                let places_of_result = if row.goal.is_ratio() { 3 } else { places };
                let (least, most) = found.spread;
                write!(
                    text,
                    " {:.places$} | {reference} | {:.3$} ({least:.3$}–{most:.3$}) | {goal} | {} |",
                    found.subject_median,
                    found.value,
                    verdict(row, found),
                    places_of_result,
                )
            }
            Found::NotRun(why) => write!(text, " – | – | – | {goal} | skipped: {why} |"),
            Found::Failed(why) => write!(text, " – | – | – | {goal} | failed: {} |", cell(why)),
        };
        text.push('\n');
    }
    text + &notes(lines)
}

/// What the rows have to say besides, below the table.
fn notes(lines: &[Line]) -> String {
    let of = |line: &Line| match &line.found {
        Found::Measured(found) => found.notes.iter().map(|note| format!("- {}, {note}\n", line.row.name)).collect(),
        Found::NotRun(_) | Found::Failed(_) => String::new(),
    };
    let notes: String = lines.iter().map(of).collect();
    if notes.is_empty() { notes } else { format!("\n{notes}") }
}

/// The table as JSON.
pub fn json(lines: &[Line], rounds: Rounds) -> Value {
    let rows: Vec<Value> = lines
        .iter()
        .map(|Line { row, found }| {
            let (measured, not_run, failed) = match found {
                Found::Measured(measured) => (Some(measured), None, None),
                Found::NotRun(why) => (None, Some(why), None),
                Found::Failed(why) => (None, None, Some(why)),
            };
            json!({
                "case": row.name,
                "what": row.what,
                "figure": row.subject.load.unit(),
                "reference_role": row.reference.map(|side| side.role.name()),
                "goal": match row.goal {
                    Goal::RatioAtMost(_) => "ratio at most",
                    Goal::RatioAtLeast(_) => "ratio at least",
                    Goal::Ratio => "ratio",
                    Goal::AtMost(_) => "at most",
                    Goal::AtLeast(_) => "at least",
                },
                "bound": row.goal.bound(),
                "measured": measured,
                "not_run": not_run,
                "failed": failed,
            })
        })
        .collect();
    json!({
        "smoke_run": rounds.quick,
        "rounds": rounds.count,
        "seconds_per_round": rounds.time.as_secs_f64(),
        "server_processor": rounds.cpus.server,
        "load_processor": rounds.cpus.load,
        "rows": rows,
    })
}

/// Text that a cell can hold: wrong replies, which a failure shows, may have any bytes.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn reference_name(row: &Row) -> &'static str {
    row.reference.map_or("", |side| side.role.name())
}

fn verdict(row: &Row, found: &Measured) -> String {
    let verdict = bare_verdict(row, found);
    if found.disturbed < DISTURBED_MIN {
        return verdict;
    }
    format!("{verdict}; disturbed: other work had up to {:.0}% of a processor", found.disturbed * 100.0)
}

fn bare_verdict(row: &Row, found: &Measured) -> String {
    let Some(bound) = row.goal.bound() else { return "–".into() };
    if found.reached {
        return "reached".into();
    }
    let missed = (found.value - bound).abs();
    let places = if row.goal.is_ratio() { 3 } else { row.subject.load.places() };
    format!("short by {missed:.places$}")
}

fn how(rounds: Rounds) -> String {
    let Rounds { count, time, cpus, quick } = rounds;
    let place = if cpus.server == cpus.load {
        format!("server and load share processor {}", cpus.server)
    } else {
        format!("server on processor {}, load on processor {}", cpus.server, cpus.load)
    };
    let smoke = if quick { "A smoke run with a part of the loads: the figures say nothing. " } else { "" };
    format!("{smoke}Medians of {count} alternating rounds of {:.1} s; {place}.", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evserver_load::cpus::Cpus;

    use super::*;
    use crate::list::ROWS;

    fn row(name: &str) -> Row {
        *ROWS.iter().find(|row| row.name == name).unwrap()
    }

    fn lines() -> Vec<Line> {
        let measured = Measured {
            subject: vec![110.0],
            reference: vec![100.0],
            subject_median: 110.0,
            reference_median: Some(100.0),
            value: 1.1,
            spread: (1.05, 1.2),
            reached: false,
            disturbed: 0.02,
            notes: vec!["subject: accept4 1.00".into()],
        };
        vec![
            Line { row: row("64x1"), found: Found::Measured(measured) },
            Line { row: row("64x16"), found: Found::NotRun("no command".into()) },
            Line { row: row("64x64"), found: Found::Failed("came a|b".into()) },
        ]
    }

    const ROUNDS: Rounds =
        Rounds { count: 1, time: Duration::from_secs(1), cpus: Cpus { server: 0, load: 1 }, quick: false };

    #[test]
    fn markdown_shows_goal_result_and_what_was_not_run() {
        let text = markdown(&lines(), ROUNDS);
        assert!(
            text.contains("| 110.0 | 100.0 | 1.100 (1.050–1.200) | ≤ 1.03 × yardstick | short by 0.070 |"),
            "{text}"
        );
        assert!(text.contains("skipped: no command"), "{text}");
        assert!(text.contains(r"failed: came a\|b"), "{text}");
        assert!(text.ends_with("\n\n- 64x1, subject: accept4 1.00\n"), "{text}");
        let pipes = |line: &str| line.matches('|').count() - line.matches(r"\|").count();
        let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(table.len(), 5);
        assert!(table.iter().all(|line| pipes(line) == pipes(table[0])), "{text}");
    }

    #[test]
    fn other_work_on_the_machine_is_said() {
        let mut lines = lines();
        if let Found::Measured(measured) = &mut lines[0].found {
            measured.disturbed = 0.4;
        }
        let text = markdown(&lines, ROUNDS);
        assert!(text.contains("| short by 0.070; disturbed: other work had up to 40% of a processor |"), "{text}");
    }

    #[test]
    fn json_has_every_round() {
        let value = json(&lines(), ROUNDS);
        assert_eq!(value["rows"][0]["measured"]["subject"], json!([110.0]));
        assert_eq!(value["rows"][0]["bound"], json!(1.03));
        assert_eq!(value["rows"][1]["not_run"], json!("no command"));
        assert_eq!(value["rows"][2]["failed"], json!("came a|b"));
    }
}
