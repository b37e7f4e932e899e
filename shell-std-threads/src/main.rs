//! `evserver-threads`: the numbered echo server with one thread a connection, on any system.
#![forbid(unsafe_code)]

mod signals;

use std::process::ExitCode;

use evserver_hosted::{CommonArgs, listen_all, parse, program, reason, say};
use evserver_threads::{DEFAULT_STACK_BYTES, LEAST_STACK_BYTES, NumberedEcho, Options, StopHandle, serve};

/// A line server with a thread for each connection: greets with `ready`, numbers the lines that it gets and sends
/// them back, says `bye` to `quit`
#[derive(clap::Parser)]
#[command(name = NAME, version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,

    /// Give each connection's thread a stack of so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_STACK_BYTES as u64, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(LEAST_STACK_BYTES as u64..=MOST_STACK_BYTES))]
    stack_size: u64,
}

const NAME: &str = "evserver-threads";

/// Larger than any stack that makes sense, small enough for every system's arithmetic.
const MOST_STACK_BYTES: u64 = 1 << 30;

fn main() -> ExitCode {
    let Args { common, stack_size } = parse();
    // Before anything that takes time: until then these signals kill.
    let obeyed = StopHandle::new().and_then(|stop| signals::obey(stop.clone()).map(|()| stop));
    let stop = match obeyed {
        Ok(stop) => stop,
        Err(error) => return say::fail(NAME, format_args!("cannot take signals: {}", reason(&error))),
    };
    let options = Options { settings: common.settings(), stop: Some(stop), stack_bytes: stack_size as usize };
    program(NAME, || listen_all(&common), |listeners| serve(listeners, options, |_| NumberedEcho::new()))
}
