//! Runs any protocol on the shell that a program is told.

use std::io;
use std::process::ExitCode;

use clap::ValueEnum;
use evserver_core::{Protocol, Settings};
use evserver_hosted::{
    CommonArgs, Listening, LoopArgs, Peer, Report, StopHandle, listen_for_loops, program, reason, say,
};

/// The shells that can run on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Loops on epoll
    #[cfg(target_os = "linux")]
    Linux,
    /// Loops on kqueue
    #[cfg(kqueue)]
    Bsd,
    /// A thread for each connection
    Threads,
}

/// The first of them is this system's own.
impl Default for Shell {
    fn default() -> Self {
        Self::value_variants()[0]
    }
}

/// What the programs of this package have on their command lines.
#[derive(clap::Args, Clone, Debug)]
#[command(about = None, long_about = None)]
pub struct ShellArgs {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    loops: LoopArgs,

    /// What drives the connections
    #[arg(long, value_enum, default_value_t)]
    shell: Shell,
}

/// A program that has taken its signals.
pub struct Program {
    name: &'static str,
    args: ShellArgs,
    signals: Signals,
}

/// What tells a shell of a signal.
enum Signals {
    #[cfg(target_os = "linux")]
    Linux(evserver_linux::Signals),
    #[cfg(kqueue)]
    Bsd(evserver_bsd::Signals),
    Threads(StopHandle),
}

impl Program {
    /// Takes the signals. No thread may have been started yet: it would get them in the old way.
    ///
    /// # Errors
    /// The exit code; it was said why.
    pub fn begin(name: &'static str, args: ShellArgs) -> Result<Self, ExitCode> {
        let signals = match args.shell {
            #[cfg(target_os = "linux")]
            Shell::Linux => evserver_linux::Signals::block().map(Signals::Linux),
            #[cfg(kqueue)]
            Shell::Bsd => evserver_bsd::Signals::catch().map(Signals::Bsd),
            Shell::Threads => stopped_by_signals().map(Signals::Threads),
        };
        match signals {
            Ok(signals) => Ok(Self { name, args, signals }),
            Err(error) => Err(say::fail(name, format_args!("cannot take signals: {}", reason(&error)))),
        }
    }

    /// Listens and serves until a signal comes; `make` makes the protocol of each client.
    pub fn run<P, F>(self, make: F) -> ExitCode
    where
        P: Protocol + Send + 'static,
        F: Fn(&Peer<P>) -> P + Sync,
    {
        let Self { name, args: ShellArgs { common, loops, .. }, signals } = self;
        let settings = common.settings();
        program(
            name,
            || listen_for_loops(&common, &loops),
            |listeners| match signals {
                #[cfg(target_os = "linux")]
                Signals::Linux(signals) => {
                    let signals = Some(signals);
                    let options = evserver_linux::Options { settings, loops: loops.threads, signals, stop: None };
                    evserver_linux::serve(listeners, options, make)
                }
                #[cfg(kqueue)]
                Signals::Bsd(signals) => {
                    let signals = Some(signals);
                    let options = evserver_bsd::Options { settings, loops: loops.threads, signals, stop: None };
                    evserver_bsd::serve(listeners, options, make)
                }
                Signals::Threads(stop) => serve(Shell::Threads, loops.threads, listeners, settings, stop, make),
            },
        )
    }
}

/// Serves on a shell, with so many loops if it has loops, until `stop` says so.
///
/// # Errors
/// Those of the shell.
pub fn serve<P, F>(
    shell: Shell,
    loops: usize,
    listeners: Vec<Listening>,
    settings: Settings,
    stop: StopHandle,
    make: F,
) -> io::Result<Report>
where
    P: Protocol + Send + 'static,
    F: Fn(&Peer<P>) -> P + Sync,
{
    let stop = Some(stop);
    match shell {
        #[cfg(target_os = "linux")]
        Shell::Linux => {
            let options = evserver_linux::Options { settings, loops, stop, signals: None };
            evserver_linux::serve(listeners, options, make)
        }
        #[cfg(kqueue)]
        Shell::Bsd => {
            let options = evserver_bsd::Options { settings, loops, stop, signals: None };
            evserver_bsd::serve(listeners, options, make)
        }
        Shell::Threads => {
            // It has a thread for each connection, and no loop.
            let _ = loops;
            let options = evserver_threads::Options { settings, stop, ..Default::default() };
            evserver_threads::serve(listeners, options, make)
        }
    }
}

/// A handle that the first SIGINT, SIGTERM or SIGHUP tells to drain, and the second one to stop now.
fn stopped_by_signals() -> io::Result<StopHandle> {
    let stop = StopHandle::new()?;
    let (told, mut draining) = (stop.clone(), false);
    let obey = move || if std::mem::replace(&mut draining, true) { told.stop_now() } else { told.drain() };
    ctrlc::set_handler(obey).map_err(io::Error::other)?;
    Ok(stop)
}
