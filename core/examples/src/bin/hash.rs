//! `hash`: digests, the slow ones from a pool of threads.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use evserver_examples::hash::{Effort, Hash};
use evserver_examples::shells::{Program, ShellArgs};
use evserver_hosted::{WorkPool, parse, parse_milliseconds, reason, say};

/// Answers a line with its SHA-256, and `slow TEXT` with a password hash of TEXT from a pool of threads
#[derive(clap::Parser)]
#[command(name = "hash", version)]
struct Args {
    #[command(flatten)]
    shell: ShellArgs,

    /// Compute slow hashes on N threads
    #[arg(long, value_name = "N", default_value = "2", allow_negative_numbers = true)]
    workers: NonZeroUsize,

    /// Make a slow hash of so many rounds
    #[arg(long, value_name = "N", default_value = "100000", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Give a slow hash up after so long, waiting for a thread included; 0 is never
    #[arg(long = "work-timeout", value_name = "SECONDS", default_value = "60")]
    #[arg(value_parser = parse_milliseconds, allow_negative_numbers = true)]
    timeout_ms: u32,
}

fn main() -> ExitCode {
    let Args { shell, workers, rounds, timeout_ms } = parse();
    // Before the pool, whose threads inherit what is done with signals.
    let program = match Program::begin("hash", shell) {
        Ok(program) => program,
        Err(code) => return code,
    };
    let pool = match WorkPool::new(workers) {
        Ok(pool) => Arc::new(pool),
        Err(error) => return say::fail("hash", format_args!("cannot start threads: {}", reason(&error))),
    };
    program.run(|peer| Hash::new(&pool, Effort { rounds, timeout_ms }, peer))
}
