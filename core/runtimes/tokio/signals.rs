//! The signals of the program, as tokio has them.

use std::io;

use tokio::select;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
pub enum Request {
    /// SIGINT, SIGTERM, SIGHUP.
    Stop,
    /// SIGUSR1.
    Report,
}

/// The signals that the program takes.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    user1: Signal,
}

impl Signals {
    /// Takes them from now on. The runtime must be running.
    pub fn take() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            user1: signal(SignalKind::user_defined1())?,
        })
    }

    /// What the next one asks for.
    pub async fn next(&mut self) -> Request {
        select! {
            _ = self.interrupt.recv() => Request::Stop,
            _ = self.terminate.recv() => Request::Stop,
            _ = self.hangup.recv() => Request::Stop,
            _ = self.user1.recv() => Request::Report,
        }
    }
}
