//! Signals by name, sent without unsafe code; a system without signals says so.

use std::{fmt, io};

/// A signal that a case sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
    /// SIGUSR1.
    User1,
    /// SIGPIPE.
    Pipe,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Continue,
    /// SIGKILL.
    Kill,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
            Signal::Hangup => "SIGHUP",
            Signal::User1 => "SIGUSR1",
            Signal::Pipe => "SIGPIPE",
            Signal::Stop => "SIGSTOP",
            Signal::Continue => "SIGCONT",
            Signal::Kill => "SIGKILL",
        })
    }
}

#[cfg(unix)]
pub(super) fn send(pid: u32, signal: Signal) -> io::Result<()> {
    use rustix::process::{Pid, Signal as Raw, kill_process};
    let raw = match signal {
        Signal::Interrupt => Raw::INT,
        Signal::Terminate => Raw::TERM,
        Signal::Hangup => Raw::HUP,
        Signal::User1 => Raw::USR1,
        Signal::Pipe => Raw::PIPE,
        Signal::Stop => Raw::STOP,
        Signal::Continue => Raw::CONT,
        Signal::Kill => Raw::KILL,
    };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, raw)?)
}

#[cfg(not(unix))]
pub(super) fn send(_pid: u32, signal: Signal) -> io::Result<()> {
    Err(io::Error::other(format!("{signal}: this system has no signals")))
}
