//! `evserver`: the numbered echo server on Linux.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use evserver_core::{Limits, NumberedEcho, Settings};
    use evserver_hosted::{CommonArgs, listen_all, parse, raise_descriptor_limit, reason, say};
    use evserver_linux::{Options, Signals, serve};

    /// A line server: greets with `ready`, numbers the lines that it gets and sends them back, says `bye` to `quit`
    #[derive(clap::Parser)]
    #[command(name = "evserver", version)]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,

        /// Have the poller report changes instead of states
        #[arg(long)]
        edge_triggered: bool,
    }

    let Args { common, edge_triggered } = parse();
    // Before anything could start a thread, which would not block them.
    let signals = match Signals::block() {
        Ok(signals) => signals,
        Err(error) => return say::fail("evserver", format_args!("cannot take signals: {}", reason(&error))),
    };
    raise_descriptor_limit();
    let listeners = match listen_all(&common) {
        Ok(listeners) => listeners,
        Err(error) => return say::fail("evserver", error),
    };
    for listening in &listeners {
        say::out(&format!("listening on {}", listening.address));
    }
    let settings = Settings {
        limits: Limits { idle_ms: common.idle_ms, line_ms: common.line_ms, ..Limits::new() },
        max_connections: common.max_connections,
        drain_ms: common.drain_ms,
        edge_triggered,
    };
    let options = Options { settings, signals: Some(signals), ..Options::default() };
    match serve(listeners, options, |_| NumberedEcho::new()) {
        Ok(report) => {
            say::out(&report.to_string());
            if report.at_once { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => say::fail("evserver", reason(&error)),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("evserver: this system has no epoll; use evserver-bsd (kqueue) or evserver-threads");
    ExitCode::FAILURE
}
