//! The servers that are shown beside each other.

use evserver_load::script::Mode;
use evserver_load::server::{Server, Start, beside};

/// The bare loop over epoll, which parses nothing.
pub const YARDSTICK: Contestant = Contestant {
    name: "yardstick, epoll",
    program: "evserver-yardstick",
    arguments: &["--greeting"],
    mode: Mode::Echo,
};

/// The same over poll(2).
pub const POLL: Contestant = Contestant {
    name: "yardstick, poll",
    program: "evserver-yardstick",
    arguments: &["--greeting", "--poll"],
    mode: Mode::Echo,
};

/// The server on epoll.
pub const EPOLL_SHELL: Contestant =
    Contestant { name: "evserver", program: "evserver", arguments: PATIENT, mode: Mode::Numbered };

/// The server with a thread a connection.
pub const THREADS_SHELL: Contestant =
    Contestant { name: "evserver-threads", program: "evserver-threads", arguments: PATIENT, mode: Mode::Numbered };

/// The same protocol as one writes it with tokio.
pub const TOKIO: Contestant =
    Contestant { name: "tokio", program: "examples/tokio_lines", arguments: &[], mode: Mode::Numbered };

/// Longer than a round may take on a busy machine; the timers are at work all the same.
const PATIENT: &[&str] = &["--idle-timeout", "600"];

/// A server, by the program beside this one.
#[derive(Clone, Copy, Debug)]
pub struct Contestant {
    /// In tables and plots.
    pub name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    mode: Mode,
}

impl Contestant {
    /// How to start it, or why it cannot be.
    pub fn server(&self) -> Result<Server, String> {
        let path = beside(self.program)?.display().to_string();
        let command = std::iter::once(path).chain(self.arguments.iter().map(|text| text.to_string())).collect();
        Ok(Server { command, start: Start::Announces, mode: self.mode, greeting: true })
    }
}
