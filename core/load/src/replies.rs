//! Checks what a connection receives, however it is cut.

use crate::failure::{Failure, Outcome};
use crate::script::Script;

/// Where one connection is in the replies that are due to it.
#[derive(Clone, Copy, Debug)]
pub struct Replies {
    connection: u64,
    /// The reply that is being received; 0 is the greeting.
    number: u64,
    /// Bytes of it that have come, all of them right.
    at: usize,
}

impl Replies {
    /// Nothing received yet.
    pub fn new(script: &Script, connection: u64) -> Self {
        Replies { connection, number: u64::from(!script.greets()), at: 0 }
    }

    /// The state after the greeting and `answered` replies.
    pub fn after(connection: u64, answered: u64) -> Self {
        Replies { connection, number: answered + 1, at: 0 }
    }

    /// Whether the greeting is complete, or none is due.
    pub fn greeted(&self) -> bool {
        self.number > 0
    }

    /// Lines whose replies are complete.
    pub fn answered(&self) -> u64 {
        self.number.saturating_sub(1)
    }

    /// Takes the next `bytes` of the stream; `sent` lines were sent so far. How many replies this completed.
    pub fn check(&mut self, script: &Script, sent: u64, bytes: &[u8]) -> Outcome<u64> {
        let before = self.answered();
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.number > sent {
                return Err(Failure::Unasked { connection: self.connection, came: rest.to_vec() });
            }
            if self.at == 0
                && self.number > 0
                && let Some(length) = script.whole_reply(self.connection, self.number, rest)
            {
                self.number += 1;
                rest = &rest[length..];
            } else {
                rest = self.check_part(script, rest)?;
            }
        }
        Ok(self.answered() - before)
    }

    /// The greeting, a reply that is cut, or a wrong one: rare enough to write it out and compare.
    fn check_part<'a>(&mut self, script: &Script, bytes: &'a [u8]) -> Outcome<&'a [u8]> {
        let mut due = Vec::with_capacity(script.lines().line_bytes() + 32);
        script.put_reply(self.connection, self.number, &mut due);
        let length = bytes.len().min(due.len() - self.at);
        let (part, rest) = bytes.split_at(length);
        if part != &due[self.at..self.at + length] {
            let came = [&due[..self.at], bytes].concat();
            return Err(Failure::Wrong { connection: self.connection, reply: self.number, due, came });
        }
        self.at += length;
        if self.at == due.len() {
            self.number += 1;
            self.at = 0;
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{Alphabet, Lines};
    use crate::script::Mode;

    const LINES: u64 = 12;

    fn stream(script: &Script) -> Vec<u8> {
        let mut stream = Vec::new();
        for number in u64::from(!script.greets())..=LINES {
            script.put_reply(7, number, &mut stream);
        }
        stream
    }

    fn scripts() -> [Script; 4] {
        [Mode::Numbered, Mode::Echo, Mode::Ping, Mode::Get]
            .map(|mode| Script::new(mode, false, Lines::new(5, Alphabet::Binary)))
    }

    #[test]
    fn every_cut_in_two_is_accepted_and_counted() {
        for script in scripts() {
            let stream = stream(&script);
            for cut in 0..=stream.len() {
                let mut replies = Replies::new(&script, 7);
                let (first, second) = stream.split_at(cut);
                let counted =
                    replies.check(&script, LINES, first).unwrap() + replies.check(&script, LINES, second).unwrap();
                assert_eq!((counted, replies.answered()), (LINES, LINES), "cut at {cut}");
            }
        }
    }

    #[test]
    fn every_single_wrong_byte_is_seen_whole_or_byte_by_byte() {
        for script in scripts() {
            let stream = stream(&script);
            for at in 0..stream.len() {
                let mut wrong = stream.clone();
                wrong[at] ^= 1;
                let whole = Replies::new(&script, 7).check(&script, LINES, &wrong);
                assert!(matches!(whole, Err(Failure::Wrong { .. })), "byte {at}: {whole:?}");
                let mut replies = Replies::new(&script, 7);
                let first = wrong.iter().position(|byte| replies.check(&script, LINES, &[*byte]).is_err());
                assert_eq!(first, Some(at));
            }
        }
    }

    #[test]
    fn a_missing_or_doubled_reply_is_seen() {
        // Redis gives all requests but the first the same reply: there a missing one stalls, one too many is unasked.
        let [numbered, echo, ..] = scripts();
        for script in [numbered, echo] {
            let stream = stream(&script);
            let reply = |number| {
                let mut reply = Vec::new();
                script.put_reply(7, number, &mut reply);
                reply
            };
            let at = stream.len() - reply(LINES).len() - reply(LINES - 1).len();
            let missing = [&stream[..at], &reply(LINES)].concat();
            let doubled = [&stream[..at], &reply(LINES - 1), &reply(LINES - 1)].concat();
            for wrong in [missing, doubled] {
                let answer = Replies::new(&script, 7).check(&script, LINES, &wrong);
                assert!(matches!(answer, Err(Failure::Wrong { .. })), "{answer:?}");
            }
        }
    }

    #[test]
    fn bytes_that_answer_no_line_are_seen() {
        for script in scripts() {
            let stream = stream(&script);
            let answer = Replies::new(&script, 7).check(&script, LINES - 1, &stream);
            assert!(matches!(answer, Err(Failure::Unasked { connection: 7, .. })), "{answer:?}");
        }
    }

    #[test]
    fn the_failure_names_the_place() {
        let [script, ..] = scripts();
        let answer = Replies::new(&script, 7).check(&script, 0, b"ready\nserver full\n");
        assert_eq!(
            answer.unwrap_err().to_string(),
            "bytes on connection 7 that answer no line: \"server full\\n\""
        );
        let answer = Replies::new(&script, 7).check(&script, 0, b"rea\0");
        assert_eq!(
            answer.unwrap_err().to_string(),
            "wrong reply 0 on connection 7, at its byte 3: due \"ready\\n\", came \"rea\\x00\""
        );
    }
}
