//! The command line, and the run that it asks for.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use evserver_load::cpus::Cpus;
use evserver_load::failure::{Failure, Outcome};
use evserver_load::progress::Progress;
use evserver_load::server::on_path;

use crate::list::ROWS;
use crate::measure::{Rounds, measure};
use crate::roles::Programs;
use crate::rows::{Role, Row};
use crate::table::{Found, Line, json, markdown};

/// What a round of a smoke run measures.
const QUICK_TIME: Duration = Duration::from_millis(50);

/// Compares a line server with a reference and prints each figure beside what it is to reach.
///
/// The commands are programs with arguments, parted by blanks and started without a shell; each but redis-server gets
/// `--listen 127.0.0.1:0`, must print `listening on ADDR:PORT`, and must greet with `ready` if it serves lines. Where none
/// is given, the program of that name beside this one is taken.
#[derive(Debug, Parser)]
#[command(name = "evserver-compare", version)]
pub struct Options {
    #[command(flatten)]
    programs: Programs,
    /// Rounds for each server and case
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds that a round measures
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// See that everything works: short rounds, less of what takes long; the figures say nothing
    #[arg(long, conflicts_with_all = ["rounds", "seconds", "strict"])]
    quick: bool,
    /// Only this case (repeatable)
    #[arg(long, value_name = "CASE", value_parser = case)]
    only: Vec<Row>,
    /// List the cases and stop
    #[arg(long)]
    list: bool,
    /// Write the table with every round to this file as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Exit with 1 if a row is skipped; that of the guest may be
    #[arg(long)]
    all: bool,
    /// Exit with 1 if a figure falls short
    #[arg(long)]
    strict: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if (0.01..=3600.0).contains(&value) { Ok(value) } else { Err("not within 0.01 and 3600".into()) }
}

fn case(name: &str) -> Result<Row, String> {
    ROWS.iter().find(|row| row.name == name).copied().ok_or_else(|| "no such case (--list shows them)".into())
}

impl Options {
    /// Does what is asked; whether that is a success.
    pub fn run(&self) -> Outcome<bool> {
        let rows: &[Row] = if self.only.is_empty() { ROWS } else { &self.only };
        if self.list {
            for row in rows {
                print(&format!("{:<18} {}\n", row.name, row.what))?;
            }
            return Ok(true);
        }
        let (count, time) =
            if self.quick { (1, QUICK_TIME) } else { (self.rounds, Duration::from_secs_f64(self.seconds)) };
        let rounds = Rounds { count, time, cpus: Cpus::choose()?, quick: self.quick };
        let mut progress = Progress::start();
        let mut lines = Vec::new();
        for row in rows {
            let row = if self.quick { row.quick() } else { *row };
            lines.push(Line { row, found: self.line(&row, rounds, &mut progress) });
        }
        print(&markdown(&lines, rounds))?;
        if let Some(path) = &self.json {
            let text = format!("{:#}\n", json(&lines, rounds));
            std::fs::write(path, text).map_err(|error| Failure::io(path.display().to_string(), error))?;
        }
        let is_bad = |line: &Line| match &line.found {
            Found::Measured(found) => self.strict && !found.reached,
            Found::NotRun(_) => self.all && line.row.subject.role != Role::Guest,
            Found::Failed(_) => true,
        };
        let any_run = lines.iter().any(|line| !matches!(line.found, Found::NotRun(_)));
        Ok(any_run && !lines.iter().any(is_bad))
    }

    /// Measures a row if there are programs for it, else says which one is missing.
    ///
    /// A failure is the row's own: the figures of the others are as good without it.
    fn line(&self, row: &Row, rounds: Rounds, progress: &mut Progress) -> Found {
        let players = row.subject.load.needs().map_or(Ok(()), |tool| on_path(tool).map(drop)).and_then(|()| {
            let subject = self.programs.player(row.subject.role)?;
            let reference = row.reference.map(|side| self.programs.player(side.role)).transpose()?;
            Ok((subject, reference))
        });
        match players {
            Err(why) => Found::NotRun(why),
            Ok((subject, reference)) => match measure(row, &subject, reference.as_ref(), rounds, progress) {
                Ok(measured) => Found::Measured(measured),
                Err(failure) => Found::Failed(failure.to_string()),
            },
        }
    }
}

/// To standard output; a reader that has gone is an error, not a panic.
fn print(text: &str) -> Outcome<()> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::io("standard output", error))
}
