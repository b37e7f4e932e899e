//! `evserver-tokio`: the core's connections as tasks of tokio.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod shared;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod wire;

#[cfg(unix)]
fn main() -> ExitCode {
    use evserver_hosted::{CommonArgs, listen_all, parse, program, reason, say};
    use signals::Signals;
    use tokio::runtime::Builder;
    use tokio::task::LocalSet;

    /// A line server on tokio: greets with `ready`, numbers the lines that it gets and sends them back, says `bye` to
    /// `quit`
    #[derive(clap::Parser)]
    #[command(name = "evserver-tokio", version)]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,
    }

    let Args { common } = parse();
    let started = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        // Before it says that it listens: from then on no signal may be deadly.
        let signals = runtime.block_on(async { Signals::take() })?;
        Ok((runtime, signals))
    });
    let (runtime, signals) = match started {
        Ok(started) => started,
        Err(error) => return say::fail("evserver", format_args!("cannot start the runtime: {}", reason(&error))),
    };
    let settings = common.settings();
    program(
        "evserver",
        || listen_all(&common),
        |listeners| {
            let tasks = LocalSet::new();
            tasks.block_on(&runtime, server::serve(listeners, settings, signals))
        },
    )
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("evserver-tokio: this example takes its signals as Unix has them; use evserver-threads");
    ExitCode::FAILURE
}
