//! What is said and what is due: the protocol as the load generator sees it.

use crate::lines::Lines;

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

    /// Appends line `number` (from 1) of `connection` as it is sent.
    pub fn put_line(&self, connection: u64, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.lines.line(connection, number));
        out.push(b'\n');
    }

    /// Appends what is due as reply `number` on `connection`; 0 is the greeting.
    pub fn put_reply(&self, connection: u64, number: u64, out: &mut Vec<u8>) {
        if number == 0 {
            out.extend_from_slice(GREETING);
            return;
        }
        if self.mode == Mode::Numbered {
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            out.extend_from_slice(b": ");
        }
        self.put_line(connection, number, out);
    }

    /// If `bytes` start with the whole reply `number` (from 1), its length; made for speed, nothing is copied.
    pub fn whole_reply(&self, connection: u64, number: u64, bytes: &[u8]) -> Option<usize> {
        let mut rest = bytes;
        if self.mode == Mode::Numbered {
            rest = rest.strip_prefix(itoa::Buffer::new().format(number).as_bytes())?;
            rest = rest.strip_prefix(b": ")?;
        }
        rest = rest.strip_prefix(self.lines.line(connection, number))?;
        rest = rest.strip_prefix(b"\n")?;
        Some(bytes.len() - rest.len())
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
