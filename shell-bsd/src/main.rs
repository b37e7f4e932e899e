//! `evserver-bsd`: the numbered echo server on the BSDs and macOS.

use std::process::ExitCode;

#[cfg(kqueue)]
fn main() -> ExitCode {
    use evserver_bsd::{Options, Signals, serve};
    use evserver_core::{Limits, NumberedEcho, Settings};
    use evserver_hosted::{CommonArgs, listen_all, parse, raise_descriptor_limit, reason, say};

    /// A line server: greets with `ready`, numbers the lines that it gets and sends them back, says `bye` to `quit`
    #[derive(clap::Parser)]
    #[command(name = "evserver-bsd", version)]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,
    }

    let Args { common } = parse();
    // Before anything that takes time: until then these signals kill.
    let signals = match Signals::catch() {
        Ok(signals) => signals,
        Err(error) => return say::fail("evserver-bsd", format_args!("cannot take signals: {}", reason(&error))),
    };
    raise_descriptor_limit();
    let listeners = match listen_all(&common) {
        Ok(listeners) => listeners,
        Err(error) => return say::fail("evserver-bsd", error),
    };
    for listening in &listeners {
        say::out(&format!("listening on {}", listening.address));
    }
    let settings = Settings {
        limits: Limits { idle_ms: common.idle_ms, line_ms: common.line_ms, ..Limits::new() },
        max_connections: common.max_connections,
        drain_ms: common.drain_ms,
        edge_triggered: false,
    };
    let options = Options { settings, signals: Some(signals), ..Options::default() };
    match serve(listeners, options, |_| NumberedEcho::new()) {
        Ok(report) => {
            say::out(&report.to_string());
            if report.at_once { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => say::fail("evserver-bsd", reason(&error)),
    }
}

#[cfg(not(kqueue))]
fn main() -> ExitCode {
    eprintln!("evserver-bsd: this system has no kqueue; use evserver (epoll) or evserver-threads");
    ExitCode::FAILURE
}
