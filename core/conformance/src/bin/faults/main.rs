//! `evserver-faults`: what each failing system call does to a server, as a table that is kept and compared.
#![forbid(unsafe_code)]

mod calls;
mod case;
mod draining;
mod kind;
mod peer;
mod plan;
mod serving;
mod starting;
mod table;
mod window;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use evserver_conformance::{Command, NotPassed};

use case::Outcome;
use kind::Kind;
use plan::Plan;
use table::Key;

/// Lets each system call of a server of the numbered echo fail with each error of its man page, and shows what becomes of
/// the server and its clients. Needs strace.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 when nothing is wrong and the tables are the same, 1 when not, 2 when the arguments are wrong."
)]
struct Arguments {
    /// The command that starts a server; it says `listening on ADDRESS:PORT` on its standard output. Options are added as
    /// evserver spells them
    #[arg(long, value_name = "COMMAND")]
    spawn: String,
    /// What kind of server it is
    #[arg(long, value_enum, default_value_t = Kind::OneLoop)]
    kind: Kind,
    /// Compares with the table in this file
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Writes the table to this file
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    write: Option<PathBuf>,
    /// Only calls and errors whose CALL:ERROR contains this text (repeatable)
    #[arg(long, value_name = "TEXT", conflicts_with = "write")]
    only: Vec<String>,
    /// How many servers run at a time
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=32))]
    jobs: u8,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let command = match Command::parse(&arguments.spawn) {
        Ok(command) => command,
        Err(mistake) => {
            eprintln!("evserver-faults: --spawn: {mistake}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments, command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("evserver-faults: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is as it should be.
fn run(arguments: &Arguments, command: Command) -> Result<bool, String> {
    let plan = Plan::new(command, arguments.kind, &arguments.only).map_err(|failed| match failed {
        NotPassed::Failed(text) | NotPassed::Skipped { why: text, .. } => text,
    })?;
    let recorded = match &arguments.compare {
        Some(file) => Some(std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?),
        None => None,
    };
    let mut cells = plan.run(arguments.jobs.into());
    if let Some(recorded) = &recorded {
        try_again(&plan, recorded, &mut cells);
    }
    let text = table::write(&cells, arguments.kind);
    match &arguments.write {
        Some(file) => std::fs::write(file, &text).map_err(|error| format!("{}: {error}", file.display()))?,
        None if recorded.is_none() => print!("{text}"),
        None => {}
    }
    let wrong = cells.values().filter(|outcome| matches!(outcome, Outcome::Wrong(_))).count();
    let different = recorded.map_or(0, |recorded| differences(&recorded, &cells, &text, &arguments.only));
    eprintln!("{} faults, {wrong} wrong outcomes, {different} differences", cells.len());
    Ok(wrong == 0 && different == 0)
}

/// A machine that stood still for seconds makes another outcome: what differs is tried again with nothing beside it.
fn try_again(plan: &Plan, recorded: &str, cells: &mut BTreeMap<Key, Outcome>) {
    const TRIES: usize = 3;
    for (key, outcome) in cells {
        let was = table::recorded(recorded, *key);
        for _ in 0..TRIES {
            if !table::is_same(was.as_deref(), outcome) {
                *outcome = plan.one(*key);
            }
        }
    }
}

/// Prints what is not as recorded, and says how much that is.
fn differences(recorded: &str, cells: &BTreeMap<Key, Outcome>, text: &str, only: &[String]) -> usize {
    let mut count = 0;
    for (key, outcome) in cells {
        let was = table::recorded(recorded, *key);
        if !table::is_same(was.as_deref(), outcome) {
            let (phase, call, errno, when) = key;
            let was = was.unwrap_or_else(|| "not in the table".to_string());
            println!("{phase:?} {call} {errno} {when}:\n    recorded: {was}\n    now:      {outcome}");
            count += 1;
        }
    }
    // Rows, and the words around them.
    let shape =
        |text: &str| text.lines().map(|line| line.split(" | ").take(2).collect::<String>()).collect::<Vec<_>>();
    if count == 0 && only.is_empty() && shape(recorded) != shape(text) {
        println!("the table has rows that are not there any more, or other words around them");
        count = 1;
    }
    count
}
