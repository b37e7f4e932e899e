//! What is said and what is due: the protocol as the load generator sees it.

use crate::lines::Lines;
use crate::resp;

/// The line that ends a conversation of the numbered echo.
pub const QUIT: &[u8] = b"quit\n";
/// The answer to it.
pub const BYE: &[u8] = b"bye\n";
/// What a server says first.
pub const GREETING: &[u8] = b"ready\n";

/// How a server answers a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `N: line`, N from 1 on each connection.
    Numbered,
    /// The same bytes back.
    Echo,
    /// Redis: `PING`, one after the other.
    Ping,
    /// Redis: each connection sets a key of its own once, then gets it.
    Get,
}

/// The conversation on every connection of a run.
#[derive(Debug)]
pub struct Script {
    mode: Mode,
    greeting: bool,
    lines: Lines,
}

impl Script {
    /// A conversation with the numbered echo, which always greets, or with a plain echo that greets if `greeting`.
    pub fn new(mode: Mode, greeting: bool, lines: Lines) -> Self {
        Script { mode, greeting: greeting || mode == Mode::Numbered, lines }
    }

    /// The lines of this run.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// How the server answers.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the server speaks first.
    pub fn greets(&self) -> bool {
        self.greeting
    }

    /// Appends line, or request, `number` (from 1) of `connection` as it is sent.
    pub fn put_line(&self, connection: u64, number: u64, out: &mut Vec<u8>) {
        match self.mode {
            Mode::Numbered | Mode::Echo => {
                out.extend_from_slice(self.lines.line(connection, number));
                out.push(b'\n');
            }
            Mode::Ping => resp::put_ping(out),
            Mode::Get => resp::put_set_or_get(&self.lines, connection, number, out),
        }
    }

    /// Appends what is due as reply `number` on `connection`; 0 is the greeting.
    pub fn put_reply(&self, connection: u64, number: u64, out: &mut Vec<u8>) {
        if number == 0 {
            out.extend_from_slice(GREETING);
            return;
        }
        match self.mode {
            Mode::Numbered => {
                out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                out.extend_from_slice(b": ");
                self.put_line(connection, number, out);
            }
            Mode::Echo => self.put_line(connection, number, out),
            Mode::Ping => out.extend_from_slice(resp::PONG),
            Mode::Get => resp::put_stored(&self.lines, connection, number, out),
        }
    }

    /// If `bytes` start with the whole reply `number` (from 1), its length; made for speed, nothing is copied.
    pub fn whole_reply(&self, connection: u64, number: u64, bytes: &[u8]) -> Option<usize> {
        let line =
            |rest: &[u8]| Some(rest.strip_prefix(self.lines.line(connection, number))?.strip_prefix(b"\n")?.len());
        let left = match self.mode {
            Mode::Numbered => {
                let rest = bytes.strip_prefix(itoa::Buffer::new().format(number).as_bytes())?;
                line(rest.strip_prefix(b": ")?)?
            }
            Mode::Echo => line(bytes)?,
            Mode::Ping => bytes.strip_prefix(resp::PONG)?.len(),
            Mode::Get => resp::after_stored(&self.lines, connection, number, bytes)?.len(),
        };
        Some(bytes.len() - left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Alphabet;

    fn script(mode: Mode) -> Script {
        Script::new(mode, false, Lines::new(4, Alphabet::Text))
    }

    #[test]
    fn numbered_replies_carry_their_number() {
        let script = script(Mode::Numbered);
        let mut due = Vec::new();
        script.put_reply(3, 0, &mut due);
        assert_eq!(due, b"ready\n");
        due.clear();
        script.put_reply(3, 12, &mut due);
        assert_eq!(due, [b"12: ", script.lines().line(3, 12), b"\n"].concat());
        assert_eq!(script.whole_reply(3, 12, &due), Some(due.len()));
        assert_eq!(script.whole_reply(3, 1, &due), None);
        assert_eq!(script.whole_reply(3, 12, &due[..due.len() - 1]), None);
    }

    #[test]
    fn echo_replies_are_the_line() {
        let script = script(Mode::Echo);
        let mut due = Vec::new();
        script.put_reply(3, 12, &mut due);
        assert_eq!(due, [script.lines().line(3, 12), b"\n"].concat());
        due.extend_from_slice(b"more");
        assert_eq!(script.whole_reply(3, 12, &due), Some(5));
        assert!(!script.greets());
    }
}
