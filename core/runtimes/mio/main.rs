//! `evserver-mio`: the core's whole server on mio's poller.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(unix)]
mod event_loop;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod socket;

#[cfg(unix)]
fn main() -> ExitCode {
    use evserver_hosted::{CommonArgs, listen_all, parse, program, reason, say};
    use signal_hook_mio::v1_0::Signals;

    /// A line server on mio: greets with `ready`, numbers the lines that it gets and sends them back, says `bye` to `quit`
    #[derive(clap::Parser)]
    #[command(name = "evserver-mio", version)]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,
    }

    let Args { common } = parse();
    // Before it says that it listens: from then on no signal may be deadly.
    let signals = match Signals::new(event_loop::SIGNALS) {
        Ok(signals) => signals,
        Err(error) => return say::fail("evserver", format_args!("cannot take signals: {}", reason(&error))),
    };
    let settings = evserver_core::Settings { edge_triggered: true, ..common.settings() };
    program("evserver", || listen_all(&common), |listeners| event_loop::serve(listeners, settings, signals))
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("evserver-mio: this example takes its signals as Unix has them; use evserver-threads");
    ExitCode::FAILURE
}
