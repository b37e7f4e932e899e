//! The numbered echo, the protocol that the servers speak unless they are given another.

use crate::protocol::{Next, Protocol};
use crate::reply::Reply;

const GREETING: &[u8] = b"ready\n";
const GOODBYE: &[u8] = b"bye\n";
const TOO_LONG: &[u8] = b"line too long\n";

/// Bytes around the line in a reply: the longest number, a colon and a space, the newline.
const AROUND: usize = "18446744073709551615: \n".len();

/// Greets with `ready`, answers a line with `N: line`, the line `quit` with `bye`, and one that does not fit with
/// `line too long`; the last two close. `N` counts the lines of one connection from 1.
#[derive(Clone, Debug, Default)]
pub struct NumberedEcho {
    /// Lines answered.
    lines: u64,
    /// Bytes of the present reply that were written, when it goes out in pieces.
    written: usize,
}

impl NumberedEcho {
    /// For a new connection: the next line is number 1.
    pub const fn new() -> Self {
        Self { lines: 0, written: 0 }
    }

    /// For a connection on which `lines` lines count as answered.
    pub const fn counting_from(lines: u64) -> Self {
        Self { lines, written: 0 }
    }

    /// Writes the concatenation of `parts` from where the last call stopped, then goes on with `then`.
    fn write(&mut self, parts: &[&[u8]], then: Next, reply: &mut Reply<'_>) -> Next {
        let mut before = 0;
        for part in parts {
            let rest = part.get(self.written.saturating_sub(before)..).unwrap_or(&[]);
            let fits = reply.put_some(rest);
            self.written += fits;
            if fits < rest.len() {
                return Next::More;
            }
            before += part.len();
        }
        self.written = 0;
        then
    }
}

impl Protocol for NumberedEcho {
    #[inline]
    fn room(&self, len: usize) -> usize {
        len.saturating_add(AROUND)
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.write(&[GREETING], Next::Line, reply)
    }

    #[inline]
    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        if line == b"quit" {
            return self.write(&[GOODBYE], Next::Close, reply);
        }
        let mut digits = itoa::Buffer::new();
        let number = digits.format(self.lines.wrapping_add(1)).as_bytes();
        let next = self.write(&[number, b": ", line, b"\n"], Next::Line, reply);
        if next == Next::Line {
            self.lines = self.lines.wrapping_add(1);
        }
        next
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.write(&[TOO_LONG], Next::Close, reply)
    }
}
