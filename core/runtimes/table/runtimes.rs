//! The runtimes, and how each is built and started.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

use evserver_conformance::NotPassed;
use evserver_conformance::process::{Launch, have};
use evserver_runtimes::Named;

use crate::replays::{by_program, over_tcp};
use crate::row::Replays;

/// A runtime that the core runs in.
pub struct Runtime {
    pub name: &'static str,
    how: How,
    /// Where it can run.
    here: Result<(), &'static str>,
}

enum How {
    /// A server that is started with these arguments.
    Server(&'static str, &'static [&'static str]),
    /// A program that replays the transcripts by itself.
    Program(&'static str),
    /// A script of the repository that does.
    Script(&'static str),
}

const ON_LINUX: Result<(), &str> = if cfg!(target_os = "linux") { Ok(()) } else { Err("it needs Linux") };
const ON_UNIX: Result<(), &str> = if cfg!(unix) { Ok(()) } else { Err("the example needs Unix") };
const WITH_KQUEUE: Result<(), &str> = if cfg!(any(
    target_os = "linux",
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly"
)) {
    Ok(())
} else {
    Err("it needs kqueue, or Linux, where kqueue is emulated")
};

/// All of them.
pub const RUNTIMES: &[Runtime] = &[
    Runtime { name: "epoll, level-triggered", how: How::Server("evserver", &[]), here: ON_LINUX },
    Runtime { name: "epoll, edge-triggered", how: How::Server("evserver", &["--edge-triggered"]), here: ON_LINUX },
    Runtime {
        name: if cfg!(target_os = "linux") { "kqueue, emulated" } else { "kqueue" },
        how: How::Server("evserver-bsd", &[]),
        here: WITH_KQUEUE,
    },
    Runtime { name: "a thread a connection", how: How::Server("evserver-threads", &[]), here: Ok(()) },
    Runtime { name: "tokio", how: How::Server("evserver-tokio", &[]), here: ON_UNIX },
    Runtime { name: "mio", how: How::Server("evserver-mio", &[]), here: ON_UNIX },
    Runtime { name: "smoltcp", how: How::Program("evserver-smoltcp"), here: Ok(()) },
    Runtime { name: "Cortex-M3 in QEMU", how: How::Script(".ci/bare-metal"), here: ON_LINUX },
];

/// Builds everything that is run, for release.
///
/// # Errors
/// The command that failed.
pub fn build() -> Result<(), String> {
    cargo(&["--bins", "-p", "evserver-linux", "-p", "evserver-threads", "-p", "evserver-runtimes"])?;
    let emulated: &[&str] = if cfg!(target_os = "linux") { &["--features", "emulated-kqueue"] } else { &[] };
    cargo(&[&["--bins", "-p", "evserver-bsd"], emulated].concat())
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(["build", "--quiet", "--release"]).args(arguments);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

impl Runtime {
    /// Starts it and replays the transcripts. `Err` says why it was not tried.
    pub fn replay(&self, all: &[Named]) -> Result<Replays, String> {
        self.here.map_err(str::to_string)?;
        let program = |name| release_folder().map(|folder| folder.join(name)).map_err(|error| error.to_string());
        Ok(match self.how {
            How::Server(name, arguments) => {
                let program = program(name)?.to_string_lossy().into_owned();
                let words = [&program, "--listen", "127.0.0.1:0"].into_iter().chain(arguments.iter().copied());
                match Launch::new(words.map(str::to_string).collect()).start() {
                    Ok(server) => over_tcp(server.address(), all),
                    Err(NotPassed::Failed(what) | NotPassed::Skipped { why: what, .. }) => {
                        Replays { how: "failed".to_string(), differences: vec![what], ..Replays::default() }
                    }
                }
            }
            How::Program(name) => by_program(&mut Command::new(program(name)?), all),
            How::Script(_) if !have("apt-get") => return Err("it installs what it needs with apt-get".to_string()),
            How::Script(path) => by_program(&mut Command::new(root().join(path)), all),
        })
    }
}

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Where the programs are that were built for release: beside this one, or beside its folder if it is a debug build.
fn release_folder() -> io::Result<PathBuf> {
    let this = env::current_exe()?;
    let folder = this.parent().unwrap_or(Path::new("."));
    Ok(folder.with_file_name("release"))
}
