//! Byte strings for people to read, long ones in short.

use std::fmt::Write as _;

/// How many bytes of a long string are shown at either end.
const SHOWN_BYTES: usize = 120;

/// Quoted and escaped; the middle of a long string is left out, and runs of one byte are counted.
pub(crate) fn show(bytes: &[u8]) -> String {
    if bytes.len() <= 2 * SHOWN_BYTES || is_one_run(bytes) {
        return format!("{} ({} bytes)", quoted(bytes), bytes.len());
    }
    let (head, rest) = bytes.split_at(SHOWN_BYTES);
    let tail = &rest[rest.len() - SHOWN_BYTES..];
    format!("{} … {} ({} bytes)", quoted(head), quoted(tail), bytes.len())
}

/// Whether run lengths shorten the string enough to show it whole: long lines of one letter are what limits are tested with.
fn is_one_run(bytes: &[u8]) -> bool {
    bytes.chunk_by(|a, b| a == b).take(SHOWN_BYTES + 1).count() <= SHOWN_BYTES
}

/// Runs this long are written `{a*100}`, as in the transcripts.
const COUNTED_RUN: usize = 16;

fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for run in bytes.chunk_by(|a, b| a == b) {
        let byte = std::ascii::escape_default(run[0]);
        if run.len() >= COUNTED_RUN {
            let _ = write!(text, "{{{byte}*{}}}", run.len());
        } else {
            for _ in run {
                let _ = write!(text, "{byte}");
            }
        }
    }
    text.push('"');
    text
}

/// What was asked for and what came, around the first byte in which they differ.
pub(crate) fn difference(expected: &[u8], came: &[u8]) -> String {
    let at = expected.iter().zip(came).position(|(a, b)| a != b).unwrap_or(expected.len().min(came.len()));
    let mut text = format!("expected: {}\n    came:     {}", show(expected), show(came));
    if expected.len().max(came.len()) > 2 * SHOWN_BYTES && (at < came.len() || at < expected.len()) {
        let around = |bytes: &[u8]| {
            let from = at.saturating_sub(SHOWN_BYTES / 3).min(bytes.len());
            let to = (at + SHOWN_BYTES / 3).min(bytes.len());
            quoted(&bytes[from..to])
        };
        let _ =
            write!(text, "\n    they differ at byte {at}: expected {}, came {}", around(expected), around(came));
    }
    text
}

/// The two ends of a long conversation, for a failure to show, without keeping the middle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excerpt {
    head: Vec<u8>,
    tail: Vec<u8>,
    length: usize,
}

impl Excerpt {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        let room = (2 * SHOWN_BYTES).saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(SHOWN_BYTES)..];
        self.tail.extend_from_slice(rest);
        let over = self.tail.len().saturating_sub(SHOWN_BYTES);
        self.tail.drain(..over);
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl std::fmt::Display for Excerpt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.tail.is_empty() {
            write!(f, "{} ({} bytes)", quoted(&self.head), self.length)
        } else if self.head.len() + self.tail.len() == self.length {
            write!(f, "{} ({} bytes)", quoted(&[&self.head[..], &self.tail].concat()), self.length)
        } else {
            let (head, tail) = (quoted(&self.head), quoted(&self.tail));
            write!(f, "{head} … {tail} ({} bytes)", self.length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_and_the_middle_is_left_out() {
        assert_eq!(show(b"a\r\n\0"), r#""a\r\n\x00" (4 bytes)"#);
        assert_eq!(show(&[b'a'; 4096]), r#""{a*4096}" (4096 bytes)"#);
        let long: Vec<u8> = b"ab\n".repeat(1000);
        assert!(show(&long).len() < 600, "{}", show(&long));
    }

    #[test]
    fn an_excerpt_keeps_the_ends() {
        let mut excerpt = Excerpt::default();
        for n in 0..1000 {
            excerpt.push(format!("{n}\n").as_bytes());
        }
        assert_eq!(excerpt.length(), 3890);
        let text = excerpt.to_string();
        assert!(text.starts_with(r#""0\n1\n"#), "{text}");
        assert!(text.ends_with(r#"999\n" (3890 bytes)"#), "{text}");
        let mut short = Excerpt::default();
        short.push(b"a\n");
        assert_eq!(short.to_string(), r#""a\n" (2 bytes)"#);
    }

    #[test]
    fn the_first_difference_is_pointed_at() {
        let expected = b"x\n".repeat(500);
        let mut came = expected.clone();
        came[700] = b'y';
        assert!(difference(&expected, &came).contains("differ at byte 700"));
        assert!(!difference(b"a", b"b").contains("differ"));
    }
}
