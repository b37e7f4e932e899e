//! `resp`: a Redis subset in memory.

use std::process::ExitCode;
use std::sync::Arc;

use evserver_examples::resp::{Resp, Store};
use evserver_examples::shells::{Program, ShellArgs};
use evserver_hosted::parse;

/// Keeps keys and values in memory, and speaks to clients of Redis: PING, ECHO, SET, GET, DEL, INCR, SELECT 0, QUIT
#[derive(clap::Parser)]
#[command(name = "resp", version)]
struct Args {
    #[command(flatten)]
    shell: ShellArgs,
}

fn main() -> ExitCode {
    let Args { shell } = parse();
    let store = Arc::new(Store::default());
    match Program::begin("resp", shell) {
        Ok(program) => program.run(|_| Resp::new(Arc::clone(&store))),
        Err(code) => code,
    }
}
