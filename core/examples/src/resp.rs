//! A subset of the Redis protocol, RESP2: PING, ECHO, SET, GET, DEL, INCR, SELECT 0, QUIT, and what clients ask first.
//!
//! # How a request is read
//!
//! A request is a line of words, or an array: `*2`, then for each argument `$5` and five bytes, every one of these with
//! CR LF behind it. A line ends with LF alone here and the CR is looked at by the protocol, because in a bulk a CR before
//! an LF may be data.
//!
//! A short bulk is read as a line, which is the cheapest way: it is whole when the line is as long as was announced. A
//! bulk that has an LF in it, or is long, comes as a counted body, part by part. Whatever a bulk contains, it is not a
//! command.
//!
//! # What is refused
//!
//! A count or a length has one spelling (see [`parse_decimal`]), a bulk at most [`BULK_BYTES`] bytes, a request at most
//! [`ARGUMENTS`] arguments and [`REQUEST_BYTES`] bytes. Anything else is answered with one `-ERR Protocol error` and the
//! connection is closed: where the next request would begin is not known any more. Memory follows the bytes that
//! arrived, never the length that was announced.

mod arguments;
mod commands;
mod sending;
mod store;

use std::sync::Arc;

use evserver_core::{LineEnd, Next, Protocol, Reply, parse_decimal};

use arguments::Stored;
use commands::{Done, ROOM, execute};
use sending::Sending;
pub use store::{Full, NotCounted, Store};

/// The largest argument, in bytes.
pub const BULK_BYTES: usize = 1024 * 1024;

/// The most arguments of a request, its name included.
pub const ARGUMENTS: u64 = 1024;

/// All arguments of a request together, in bytes, with a few for each.
pub const REQUEST_BYTES: usize = BULK_BYTES + 64 * 1024;

/// A bulk up to this length is read as a line. A longer one would fill the input before it is whole.
const SHORT_BULK_BYTES: usize = 1024;

/// One connection.
#[derive(Debug)]
pub struct Resp {
    store: Arc<Store>,
    stored: Stored,
    expected: Expected,
    /// Arguments that are still to come, the one that is expected included.
    left: u32,
    /// A reply that leaves in pieces: the call that began it is repeated until it is out.
    sending: Option<Sending>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A line of words, or the head of an array.
    Request,
    /// The length of an argument.
    Length,
    /// A line that is an argument of so many bytes, or its beginning.
    Bulk(u32),
    /// An argument as a counted body, with its line end.
    Body,
}

impl Resp {
    /// A connection to this store.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, stored: Stored::default(), expected: Expected::Request, left: 0, sending: None }
    }

    /// A line of words, or the head of an array.
    #[inline]
    fn request(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        match line {
            [b'*', count @ .., b'\r'] => match parse_decimal(count) {
                Some(0) => Next::Line,
                Some(count @ 1..=ARGUMENTS) => {
                    self.left = count as u32;
                    self.expected = Expected::Length;
                    Next::Line
                }
                _ => refuse("invalid multibulk length", reply),
            },
            [b'*', ..] => refuse("invalid multibulk length", reply),
            [words @ .., b'\r'] | words => self.words(words, reply),
        }
    }

    /// A request as a person types it. Quotes mean nothing special; an empty line is no request.
    fn words(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let Some(mut last) = words.next() else { return Next::Line };
        for word in words {
            self.stored.push(last);
            last = word;
        }
        self.execute(Some(last), reply)
    }

    #[inline]
    fn length(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        let [b'$', digits @ .., b'\r'] = line else { return refuse("expected '$' and a length", reply) };
        let bytes = match parse_decimal(digits).and_then(|bytes| usize::try_from(bytes).ok()) {
            Some(bytes) if bytes <= BULK_BYTES => bytes,
            _ => return refuse("invalid bulk length", reply),
        };
        if self.stored.len() + bytes > REQUEST_BYTES {
            return refuse("too big request", reply);
        }
        if bytes <= SHORT_BULK_BYTES {
            self.expected = Expected::Bulk(bytes as u32);
            return Next::Line;
        }
        self.stored.begin(bytes);
        self.expected = Expected::Body;
        Next::Body(bytes as u64 + LINE_END_BYTES)
    }

    /// A line where an argument of so many bytes was announced.
    #[inline]
    fn bulk(&mut self, bytes: u32, line: &[u8], reply: &mut Reply<'_>) -> Next {
        let bytes = bytes as usize;
        match line {
            [argument @ .., b'\r'] if argument.len() == bytes => self.argument(Some(argument), reply),
            // The LF that ended the line is one of the announced bytes, and there are more.
            _ if line.len() < bytes => {
                self.stored.begin(bytes);
                self.stored.extend(line);
                self.stored.extend(b"\n");
                self.expected = Expected::Body;
                Next::Body((bytes - line.len() - 1) as u64 + LINE_END_BYTES)
            }
            _ => refuse(NO_LINE_END, reply),
        }
    }

    /// An argument is whole: this one, or the one that was stored last.
    #[inline]
    fn argument(&mut self, argument: Option<&[u8]>, reply: &mut Reply<'_>) -> Next {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.expected = Expected::Request;
            return self.execute(argument, reply);
        }
        if let Some(argument) = argument {
            self.stored.push(argument);
        }
        self.expected = Expected::Length;
        Next::Line
    }

    /// Carries out what is stored and `last`.
    #[inline]
    fn execute(&mut self, last: Option<&[u8]>, reply: &mut Reply<'_>) -> Next {
        let done = execute(&self.store, self.stored.and(last), reply);
        self.stored.clear();
        match done {
            Ok(Done::Answered) => Next::Line,
            Ok(Done::Sending(sending)) => {
                self.sending = Some(sending);
                self.go_on(reply)
            }
            // There was `ROOM`, so an error of `execute` cannot be.
            Ok(Done::Quit) | Err(_) => Next::Close,
        }
    }

    #[cold]
    fn go_on(&mut self, reply: &mut Reply<'_>) -> Next {
        let next = self.sending.as_mut().map_or(Next::Line, |sending| sending.go_on(reply));
        if next == Next::Line {
            self.sending = None;
        }
        next
    }
}

/// CR LF.
const LINE_END_BYTES: u64 = 2;

const NO_LINE_END: &str = "expected CR LF behind an argument";

/// The stream cannot be followed any more.
#[cold]
fn refuse(why: &str, reply: &mut Reply<'_>) -> Next {
    let written = [b"-ERR Protocol error: ", why.as_bytes(), b"\r\n"].iter().try_for_each(|part| reply.put(part));
    debug_assert!(written.is_ok(), "there is room for it");
    Next::Close
}

impl Protocol for Resp {
    const LINE_END: LineEnd = LineEnd::Byte(b'\n');

    #[inline]
    fn room(&self, _: usize) -> usize {
        ROOM
    }

    #[inline]
    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        if self.sending.is_some() {
            return self.go_on(reply);
        }
        match self.expected {
            Expected::Request => self.request(line, reply),
            Expected::Length => self.length(line, reply),
            Expected::Bulk(bytes) => self.bulk(bytes, line, reply),
            // A body is not over as long as it is expected.
            Expected::Body => refuse(NO_LINE_END, reply),
        }
    }

    fn body(&mut self, part: &[u8], left: u64, reply: &mut Reply<'_>) -> Next {
        if self.sending.is_some() {
            return self.go_on(reply);
        }
        self.stored.extend(part);
        if left > 0 {
            return Next::Body(left);
        }
        if !self.stored.strip_line_end() {
            return refuse(NO_LINE_END, reply);
        }
        self.argument(None, reply)
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        refuse(if self.expected == Expected::Request { "too big inline request" } else { NO_LINE_END }, reply)
    }
}

#[cfg(test)]
mod tests;
