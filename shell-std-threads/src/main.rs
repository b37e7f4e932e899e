//! `evserver-threads`: the numbered echo server with one thread a connection, on any system.
#![forbid(unsafe_code)]

mod signals;

use std::process::ExitCode;

use evserver_hosted::{CommonArgs, listen_all, parse, raise_descriptor_limit, reason, say};
use evserver_threads::{
    DEFAULT_STACK_BYTES, LEAST_STACK_BYTES, Limits, NumberedEcho, Options, Settings, StopHandle, serve,
};

/// A line server with a thread for each connection: greets with `ready`, numbers the lines that it gets and sends
/// them back, says `bye` to `quit`
#[derive(clap::Parser)]
#[command(name = "evserver-threads", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,

    /// Give each connection's thread a stack of so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_STACK_BYTES as u64, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(LEAST_STACK_BYTES as u64..=MOST_STACK_BYTES))]
    stack_size: u64,
}

/// Larger than any stack that makes sense, small enough for every system's arithmetic.
const MOST_STACK_BYTES: u64 = 1 << 30;

fn main() -> ExitCode {
    let Args { common, stack_size } = parse();
    let obeyed = StopHandle::new().and_then(|stop| signals::obey(stop.clone()).map(|()| stop));
    let stop = match obeyed {
        Ok(stop) => stop,
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
        ..Settings::default()
    };
    let options = Options { settings, stop: Some(stop), stack_bytes: stack_size as usize };
    match serve(listeners, options, |_| NumberedEcho::new()) {
        Ok(report) => {
            say::out(&report.to_string());
            if report.at_once { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => say::fail("evserver", reason(&error)),
    }
}
