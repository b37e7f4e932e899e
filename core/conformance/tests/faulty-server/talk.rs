//! The numbered echo, as simple as it can be made, with no I/O.

use crate::fault::Fault;

/// Bytes before a line feed.
const LONGEST_LINE_BYTES: usize = 4095;

/// No further line is answered while so much output waits.
const OUTPUT_BYTES: usize = 4096;

pub struct Talk {
    fault: Fault,
    input: Vec<u8>,
    /// What the last read brought, counted from the end of `input`.
    newest_bytes: usize,
    pub output: Vec<u8>,
    number: u64,
    /// The last reply is in the output.
    pub over: bool,
}

impl Talk {
    pub fn new(fault: Fault) -> Talk {
        Talk { fault, input: Vec::new(), newest_bytes: 0, output: b"ready\n".to_vec(), number: 0, over: false }
    }

    pub fn take(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        self.newest_bytes = bytes.len();
    }

    /// The client has ended its stream.
    pub fn end(&mut self) {
        if self.fault == Fault::AnswersTail && !self.over && !self.input.is_empty() {
            self.input.push(b'\n');
            self.answer();
        }
    }

    /// Answers buffered lines while there is room for output.
    pub fn answer(&mut self) {
        let endless = self.fault == Fault::BuffersWithoutEnd || self.fault == Fault::ClosesOnOverflow;
        let mut done = 0;
        while !self.over && (endless || self.output.len() < OUTPUT_BYTES) {
            let rest = &self.input[done..];
            let line_feed = rest.iter().position(|&byte| byte == b'\n');
            if self.is_too_long(rest, line_feed) {
                self.output.extend_from_slice(b"line too long\n");
                self.over = true;
                break;
            }
            let Some(length) = line_feed else { break };
            let unread_before = self.input.len() - self.newest_bytes.min(self.input.len());
            let line = self.without_return(&rest[..length], done + length == unread_before).to_vec();
            done += length + 1;
            self.reply(&line);
        }
        self.input.drain(..done);
        if self.over {
            self.input.clear();
        }
    }

    fn is_too_long(&self, rest: &[u8], line_feed: Option<usize>) -> bool {
        let length = line_feed.unwrap_or(rest.len());
        match (self.fault, line_feed) {
            (Fault::ChecksLengthWhenIncomplete, Some(_)) => false,
            (Fault::VerdictAtLineFeed, None) => length > 4 * LONGEST_LINE_BYTES,
            (Fault::ReturnIsFree, Some(at)) if rest[..at].ends_with(b"\r") => length > LONGEST_LINE_BYTES + 1,
            (Fault::ReturnIsFree, None) if rest.ends_with(b"\r") => length > LONGEST_LINE_BYTES + 1,
            _ => length > LONGEST_LINE_BYTES,
        }
    }

    fn without_return<'a>(&self, line: &'a [u8], line_feed_starts_read: bool) -> &'a [u8] {
        match self.fault {
            Fault::CutsReturnOfSameRead if line_feed_starts_read => line,
            Fault::CutsEveryReturn => &line[..line.iter().rposition(|&byte| byte != b'\r').map_or(0, |at| at + 1)],
            _ => line.strip_suffix(b"\r").unwrap_or(line),
        }
    }

    fn reply(&mut self, line: &[u8]) {
        if line == b"quit" {
            self.output.extend_from_slice(b"bye\n");
            self.over = self.fault != Fault::AnswersAfterQuit;
            return;
        }
        if self.fault == Fault::StrictUtf8 && str::from_utf8(line).is_err() {
            self.over = true;
            return;
        }
        let echo = match self.fault {
            Fault::CutsNul => line.split(|&byte| byte == 0).next().unwrap_or(line),
            _ => line,
        };
        self.number += 1;
        self.output.extend_from_slice(format!("{}: ", self.number).as_bytes());
        self.output.extend_from_slice(echo);
        self.output.push(b'\n');
    }
}
