//! The command line, and the run that it asks for.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use evserver_load::failure::{Failure, Outcome};
use evserver_load::progress::Progress;
use evserver_load::script;

use crate::cpus::Cpus;
use crate::measure::{Rounds, measure};
use crate::rows::{ROWS, Role, Row};
use crate::server::Server;
use crate::table::{Found, Line, json, markdown};

/// Compares a line server with a reference and prints each figure beside what it is to reach.
///
/// The commands are programs with arguments, parted by blanks and started without a shell; each gets
/// `--listen 127.0.0.1:0`, must print `listening on ADDR:PORT`, and must greet with `ready`. Where none is given,
/// the program of that name beside this one is taken.
#[derive(Debug, Parser)]
#[command(name = "evserver-compare", version)]
pub struct Options {
    /// The server that is judged [beside this program: evserver --idle-timeout 600]
    #[arg(long, value_name = "COMMAND")]
    subject: Option<String>,
    /// How it answers
    #[arg(long, value_enum, default_value_t = Mode::Numbered)]
    subject_mode: Mode,
    /// The bare loop, a plain echo [beside this program: evserver-yardstick --greeting]
    #[arg(long, value_name = "COMMAND")]
    yardstick: Option<String>,
    /// A tokio server of the numbered echo [beside this program: examples/tokio_lines]
    #[arg(long, value_name = "COMMAND")]
    tokio: Option<String>,
    /// Rounds for each server and case
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds that a round measures
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Only this case (repeatable)
    #[arg(long, value_name = "CASE", value_parser = case)]
    only: Vec<Row>,
    /// List the cases and stop
    #[arg(long)]
    list: bool,
    /// Write the table with every round to this file as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Exit with 1 if a figure falls short
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// `N: line`
    Numbered,
    /// the same bytes
    Echo,
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
        let time = Duration::from_secs_f64(self.seconds);
        let rounds = Rounds { count: self.rounds, time, cpus: Cpus::choose()? };
        let mut progress = Progress::start();
        let mut lines = Vec::new();
        for row in rows {
            lines.push(Line { row: *row, found: self.line(row, rounds, &mut progress) });
        }
        print(&markdown(&lines, rounds))?;
        if let Some(path) = &self.json {
            let text = format!("{:#}\n", json(&lines, rounds));
            std::fs::write(path, text).map_err(|error| Failure::io(path.display().to_string(), error))?;
        }
        let is_bad = |line: &Line| match &line.found {
            Found::Measured(found) => self.strict && !found.reached,
            Found::NotRun(_) => false,
            Found::Failed(_) => true,
        };
        let any_run = lines.iter().any(|line| !matches!(line.found, Found::NotRun(_)));
        Ok(any_run && !lines.iter().any(is_bad))
    }

    /// Measures a row if there are programs for it, else says which one is missing.
    ///
    /// A failure is the row's own: the figures of the others are as good without it.
    fn line(&self, row: &Row, rounds: Rounds, progress: &mut Progress) -> Found {
        let servers = self.server(row.subject.role).and_then(|subject| {
            let reference = row.reference.map(|side| self.server(side.role)).transpose()?;
            Ok((subject, reference))
        });
        match servers {
            Err(why) => Found::NotRun(why),
            Ok((subject, reference)) => match measure(row, &subject, reference.as_ref(), rounds, progress) {
                Ok(measured) => Found::Measured(measured),
                Err(failure) => Found::Failed(failure.to_string()),
            },
        }
    }

    /// The program that plays `role`, or why there is none.
    fn server(&self, role: Role) -> Result<Server, String> {
        let (given, program, arguments): (_, _, &[&str]) = match role {
            // Longer than any round may take on a busy machine; the timers are at work all the same.
            Role::Subject => (&self.subject, "evserver", &["--idle-timeout", "600"]),
            Role::Yardstick => (&self.yardstick, "evserver-yardstick", &["--greeting"]),
            Role::Tokio => (&self.tokio, "examples/tokio_lines", &[]),
        };
        let mode = match (role, self.subject_mode) {
            (Role::Yardstick, _) | (Role::Subject, Mode::Echo) => script::Mode::Echo,
            _ => script::Mode::Numbered,
        };
        if let Some(given) = given {
            let command = given.split_whitespace().map(String::from).collect();
            return Ok(Server { command, mode });
        }
        let own = std::env::current_exe().map_err(|error| format!("cannot find the own program: {error}"))?;
        let path = own.parent().unwrap_or(Path::new(".")).join(program);
        if !path.exists() {
            return Err(format!("{program} is not built and --{} not given", role.name()));
        }
        let path = path.display().to_string();
        let command = std::iter::once(path).chain(arguments.iter().map(|text| text.to_string())).collect();
        Ok(Server { command, mode })
    }
}

/// To standard output; a reader that has gone is an error, not a panic.
fn print(text: &str) -> Outcome<()> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::io("standard output", error))
}
