//! `evserver`: the numbered echo server on Linux.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use evserver_core::{NumberedEcho, Settings};
    use evserver_hosted::{CommonArgs, LoopArgs, listen_for_loops, parse, program, reason, say};
    use evserver_linux::{Options, Signals, serve};

    /// A line server: greets with `ready`, numbers the lines that it gets and sends them back, says `bye` to `quit`
    #[derive(clap::Parser)]
    #[command(name = "evserver", version)]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        loops: LoopArgs,

        /// Have the poller report changes instead of states
        #[arg(long)]
        edge_triggered: bool,
    }

    let Args { common, loops, edge_triggered } = parse();
    // Before anything could start a thread, which would not block them.
    let signals = match Signals::block() {
        Ok(signals) => signals,
        Err(error) => return say::fail("evserver", format_args!("cannot take signals: {}", reason(&error))),
    };
    let settings = Settings { edge_triggered, ..common.settings() };
    let options = Options { settings, loops: loops.threads, signals: Some(signals), ..Options::default() };
    let listeners = || listen_for_loops(&common, &loops);
    program("evserver", listeners, |listeners| serve(listeners, options, |_| NumberedEcho::new()))
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("evserver: this system has no epoll; use evserver-bsd (kqueue) or evserver-threads");
    ExitCode::FAILURE
}
