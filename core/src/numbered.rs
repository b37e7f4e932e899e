//! The numbered echo, the protocol that the servers speak unless they are given another.

use crate::protocol::{Next, Protocol};
use crate::reply::Reply;

const GREETING: &[u8] = b"ready\n";
const GOODBYE: &[u8] = b"bye\n";
const TOO_LONG: &[u8] = b"line too long\n";

/// Bytes around the line in a reply: the longest number, a colon and a space, the newline.
const AROUND: usize = "18446744073709551615: \n".len();

/// Digits of the longest number, a colon and a space.
const PREFIX: usize = AROUND - 1;

/// Greets with `ready`, answers a line with `N: line`, the line `quit` with `bye`, and one that does not fit with
/// `line too long`; the last two close. `N` counts the lines of one connection from 1.
#[derive(Clone, Debug)]
pub struct NumberedEcho {
    /// The next line's number as it is written, with the colon and the space. Counting up one in decimal changes a
    /// digit or two, which is cheaper than to write the number anew for each line.
    prefix: [u8; PREFIX],
    prefix_len: u8,
    /// Bytes of the present reply that were written, when it goes out in pieces.
    written: u16,
}

impl NumberedEcho {
    /// For a new connection: the next line is number 1.
    pub const fn new() -> Self {
        let mut prefix = [0; PREFIX];
        [prefix[0], prefix[1], prefix[2]] = *b"1: ";
        Self { prefix, prefix_len: 3, written: 0 }
    }

    /// For a connection on which `lines` lines count as answered.
    pub fn counting_from(lines: u64) -> Self {
        let mut echo = Self { prefix_len: 0, ..Self::new() };
        let mut digits = itoa::Buffer::new();
        let number = digits.format(lines.wrapping_add(1)).as_bytes();
        for (place, &byte) in echo.prefix.iter_mut().zip(number.iter().chain(b": ")) {
            *place = byte;
            echo.prefix_len += 1;
        }
        echo
    }

    /// Goes on to the next number. There are more 20-digit numbers than any connection has lines.
    #[inline]
    fn count(&mut self) {
        let digits = usize::from(self.prefix_len).saturating_sub(2);
        for digit in self.prefix.get_mut(..digits).unwrap_or(&mut []).iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        // All nines: one digit more. "00: " becomes "100: ".
        if digits + 3 <= PREFIX {
            self.prefix.copy_within(..PREFIX - 1, 1);
            self.prefix_len += 1;
        }
        self.prefix[0] = b'1';
    }

    /// Writes the concatenation of `parts` from where the last call stopped, then goes on with `then`.
    fn write(&mut self, parts: &[&[u8]], then: Next, reply: &mut Reply<'_>) -> Next {
        let mut before = 0;
        for part in parts {
            let rest = part.get(usize::from(self.written).saturating_sub(before)..).unwrap_or(&[]);
            let fits = reply.put_some(rest);
            // A reply is one line and what is around it: far from 65,535 bytes with any buffer in use.
            self.written = self.written.saturating_add(fits as u16);
            if fits < rest.len() {
                return Next::More;
            }
            before += part.len();
        }
        self.written = 0;
        then
    }

    /// Puts a whole reply at the beginning of `space` and returns its length; `None` when it does not fit.
    #[inline]
    fn put(&self, line: &[u8], space: &mut [u8]) -> Option<usize> {
        // All of the array, of which only the first bytes stay: a copy of fixed size is two instructions.
        *space.first_chunk_mut()? = self.prefix;
        let rest = space.get_mut(usize::from(self.prefix_len)..)?;
        let (middle, [last, ..]) = rest.split_at_mut_checked(line.len())? else { return None };
        middle.copy_from_slice(line);
        *last = b'\n';
        Some(usize::from(self.prefix_len) + line.len() + 1)
    }

    /// Writes a reply that does not fit the buffer, in pieces.
    #[cold]
    fn line_in_pieces(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        let prefix = self.prefix;
        let prefix = prefix.get(..usize::from(self.prefix_len)).unwrap_or(&[]);
        let next = self.write(&[prefix, line, b"\n"], Next::Line, reply);
        if next == Next::Line {
            self.count();
        }
        next
    }
}

impl Default for NumberedEcho {
    fn default() -> Self {
        Self::new()
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
        if self.written == 0
            && let Some(len) = self.put(line, reply.space())
        {
            reply.wrote(len);
            self.count();
            return Next::Line;
        }
        self.line_in_pieces(line, reply)
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.write(&[TOO_LONG], Next::Close, reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(echo: &NumberedEcho) -> &str {
        core::str::from_utf8(&echo.prefix[..usize::from(echo.prefix_len)]).unwrap()
    }

    #[test]
    fn it_counts_in_decimal() {
        let mut echo = NumberedEcho::new();
        for n in 1..=100_100u64 {
            assert_eq!(prefix(&echo), std::format!("{n}: "));
            echo.count();
        }
        for lines in [0, 8, 9, 98, 99, 999_999_998, 9_999_999_999_999_999_998, u64::MAX - 1] {
            let mut echo = NumberedEcho::counting_from(lines);
            assert_eq!(prefix(&echo), std::format!("{}: ", u128::from(lines) + 1));
            echo.count();
            assert_eq!(prefix(&echo), std::format!("{}: ", u128::from(lines) + 2));
        }
    }
}
