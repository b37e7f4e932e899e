//! The suite as a program: `evserver-conformance --connect ADDRESS` or `--spawn COMMAND`.

use std::net::ToSocketAddrs;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, error::ErrorKind};
use evserver_conformance::{Command, Suite, Target, Traits, all_cases};

/// Checks that a server of the numbered echo follows its rules.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 when no case failed, 1 when one did, 2 when the arguments are wrong."
)]
struct Arguments {
    /// A server that runs already; the cases that need one of their own are skipped
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "spawn")]
    connect: Option<String>,
    /// The command that starts a server; it says `listening on ADDRESS:PORT` on its standard output.
    /// `{idle}`, `{line}`, `{drain}`, `{max}`, `{backlog}` and `{listen}` stand where a case's own value goes; options
    /// without a placeholder are added at the end as evserver spells them (`--drain-timeout 1`)
    #[arg(long, value_name = "COMMAND")]
    spawn: Option<String>,
    /// Shows the cases and their rules, and runs none
    #[arg(long)]
    list: bool,
    /// Runs the case of this name, or those whose name contains NAME (repeatable)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Leaves out a case that this server cannot have, and says why (repeatable)
    #[arg(long, value_name = "NAME=REASON", value_parser = name_and_reason)]
    without: Vec<(String, String)>,
    /// Repeats the random choices of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// The most system calls that a reply may cost, with 64 clients in step
    #[arg(long, value_name = "CALLS", default_value_t = Traits::default().calls_a_reply)]
    calls_a_reply: f64,
    /// The most poller calls (`epoll_ctl`) that an ordinary connection may cost, from its accept to its end
    #[arg(long, value_name = "CALLS", default_value_t = Traits::default().poller_calls_a_connection)]
    poller_calls_a_connection: usize,
    /// The server has a thread for each connection: wake-ups are counted for each of them
    #[arg(long)]
    thread_a_connection: bool,
}

fn name_and_reason(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, reason)) if !reason.trim().is_empty() => Ok((name.to_string(), reason.to_string())),
        _ => Err("a case and the reason, as in NAME=REASON".to_string()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.list {
        for case in all_cases() {
            println!("{}\n    {}", case.name, case.rule);
        }
        return ExitCode::SUCCESS;
    }
    let without: Vec<(&str, &str)> = arguments.without.iter().map(|(name, why)| (&**name, &**why)).collect();
    let traits = Traits {
        calls_a_reply: arguments.calls_a_reply,
        poller_calls_a_connection: arguments.poller_calls_a_connection,
        thread_a_connection: arguments.thread_a_connection,
    };
    let mut suite = Suite::new(target(&arguments)).traits(traits).only(&arguments.only).without(&without);
    if let Some(seed) = arguments.seed {
        suite = suite.seed(seed);
    }
    match suite.run() {
        Ok(summary) if summary.failed.is_empty() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(mistake) => usage(mistake),
    }
}

fn target(arguments: &Arguments) -> Target {
    match (&arguments.connect, &arguments.spawn) {
        (Some(address), _) => match address.to_socket_addrs().map(|mut all| all.next()) {
            Ok(Some(address)) => Target::Address(address),
            Ok(None) => usage(format!("--connect {address}: the name has no address")),
            Err(error) => usage(format!("--connect {address}: {error}")),
        },
        (None, Some(command)) => match Command::parse(command) {
            Ok(command) => Target::Command(command),
            Err(mistake) => usage(format!("--spawn: {mistake}")),
        },
        (None, None) => usage("one of --connect and --spawn is needed".to_string()),
    }
}

/// Ends the program with what is wrong and exit code 2, as clap does.
fn usage(mistake: String) -> ! {
    Arguments::command().error(ErrorKind::ValueValidation, mistake).exit()
}
