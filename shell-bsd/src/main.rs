//! `evserver-bsd`: the numbered echo server on the BSDs and macOS.

use std::process::ExitCode;

#[cfg(kqueue)]
fn main() -> ExitCode {
    use evserver_bsd::{Options, Signals, serve};
    use evserver_core::NumberedEcho;
    use evserver_hosted::{CommonArgs, LoopArgs, listen_for_loops, parse, program, reason, say};

    /// A line server: greets with `ready`, numbers the lines that it gets and sends them back, says `bye` to `quit`
    #[derive(clap::Parser)]
    #[command(name = "evserver-bsd", version)]
    struct Args {
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        loops: LoopArgs,
    }

    let Args { common, loops } = parse();
    // Before anything that takes time: until then these signals kill.
    let signals = match Signals::catch() {
        Ok(signals) => signals,
        Err(error) => return say::fail("evserver-bsd", format_args!("cannot take signals: {}", reason(&error))),
    };
    let options =
        Options { settings: common.settings(), loops: loops.threads, signals: Some(signals), ..Options::default() };
    let listeners = || listen_for_loops(&common, &loops);
    program("evserver-bsd", listeners, |listeners| serve(listeners, options, |_| NumberedEcho::new()))
}

#[cfg(not(kqueue))]
fn main() -> ExitCode {
    eprintln!("evserver-bsd: this system has no kqueue; use evserver (epoll) or evserver-threads");
    ExitCode::FAILURE
}
