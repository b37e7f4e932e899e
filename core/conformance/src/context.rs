//! What a case has to work with.

use std::net::SocketAddr;

use crate::case::NotPassed;
use crate::client::Client;
use crate::command::Command;
use crate::random::Random;

/// How this server differs from others by what it is, not by a fault.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The most system calls that a reply may cost with 64 clients in step.
    pub calls_a_reply: f64,
    /// The most poller calls (`epoll_ctl`) that an ordinary connection may cost: one to register, one to remove.
    pub poller_calls_a_connection: usize,
    /// One thread a connection: a wake-up is a thread's, so there is one for each connection where an event loop has one in all.
    pub thread_a_connection: bool,
}

impl Default for Traits {
    /// A level-triggered epoll loop.
    fn default() -> Traits {
        Traits { calls_a_reply: 2.1, poller_calls_a_connection: 2, thread_a_connection: false }
    }
}

/// What a case has to work with.
pub struct Context<'a> {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) command: Option<&'a Command>,
    pub(crate) traits: Traits,
    pub(crate) seed: u64,
}

impl Context<'_> {
    /// Where the server that all cases share listens.
    ///
    /// # Errors
    /// When this case was declared to need a server of its own.
    pub fn address(&self) -> Result<SocketAddr, NotPassed> {
        self.address.ok_or_else(|| NotPassed::failed("this case has no shared server: it declares Needs::Spawn"))
    }

    /// A client of the shared server that has not read the greeting yet.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect(&self) -> Result<Client, NotPassed> {
        Client::connect(self.address()?)
    }

    /// A client of the shared server that has read the greeting.
    ///
    /// # Errors
    /// As [`Client::greeted`].
    pub fn greeted(&self) -> Result<Client, NotPassed> {
        Client::greeted(self.address()?)
    }

    /// The words of the command that starts a server with a case's own options, such as `["--idle-timeout", "1"]`.
    ///
    /// # Errors
    /// When only an address was given.
    pub fn command_line(&self, options: &[&str]) -> Result<Vec<String>, NotPassed> {
        match self.command {
            Some(command) => Ok(command.with(options)),
            None => Err(NotPassed::skipped("it needs --spawn")),
        }
    }

    /// What to expect of this kind of server.
    pub fn traits(&self) -> Traits {
        self.traits
    }

    /// Random numbers from the run's seed; `salt` keeps cases and rounds apart.
    pub fn random(&self, salt: u64) -> Random {
        Random::new(self.seed.wrapping_add(salt.wrapping_mul(0x1000_0001)))
    }
}
