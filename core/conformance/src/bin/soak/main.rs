//! `evserver-soak`: clients of every kind for minutes, and afterwards everything is as it was.
#![forbid(unsafe_code)]

mod clients;
mod counts;
mod run;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use evserver_conformance::{Command, NotPassed};

/// Runs clients of every kind against a server of the numbered echo, checks each byte, and then that memory, descriptors,
/// threads and counts are what they were, and that the report says what the clients counted.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 when all is as it should be, 1 when not, 2 when the arguments are wrong."
)]
struct Arguments {
    /// The command that starts a server; it says `listening on ADDRESS:PORT` on its standard output. Options are added as
    /// evserver spells them
    #[arg(long, value_name = "COMMAND")]
    spawn: String,
    /// For so long
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,
    /// Repeats the random choices of an earlier run; how they meet is another matter
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let command = match Command::parse(&arguments.spawn) {
        Ok(command) => command,
        Err(mistake) => {
            eprintln!("evserver-soak: --spawn: {mistake}");
            return ExitCode::from(2);
        }
    };
    let clock = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
    let seed = arguments.seed.unwrap_or(clock);
    println!("seed {seed}");
    match run::run(&command, Duration::from_secs(arguments.seconds), seed) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(NotPassed::Failed(text) | NotPassed::Skipped { why: text, .. }) => {
            eprintln!("evserver-soak: {text}");
            ExitCode::FAILURE
        }
    }
}
