//! What a client has to be told: the numbered echo without buffers, as far as it was said.

use std::collections::VecDeque;

/// The rules as one client sees them. It is given what the client sent and what came, and compares.
#[derive(Debug)]
pub struct Expect {
    /// Bytes before the newline that still are a line.
    longest: usize,
    line: Vec<u8>,
    number: u64,
    /// Replies that did not come yet.
    out: VecDeque<u8>,
    /// Nothing that is sent from now on is answered.
    over: bool,
    /// Lines that came.
    pub lines: u64,
    /// Pushes that came.
    pub pushes: u64,
    in_push: bool,
    at_line_start: bool,
    pub refused: bool,
}

impl Expect {
    pub fn new(buffer_bytes: usize) -> Self {
        Self {
            longest: buffer_bytes - 1,
            line: Vec::new(),
            number: 0,
            out: b"ready\n".iter().copied().collect(),
            over: false,
            lines: 0,
            pushes: 0,
            in_push: false,
            at_line_start: true,
            refused: false,
        }
    }

    /// The client put these bytes on the wire.
    pub fn sent(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.over {
                return;
            }
            if byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.answer(line.strip_suffix(b"\r").unwrap_or(&line));
            } else {
                self.line.push(byte);
                if self.line.len() > self.longest {
                    self.over = true;
                    self.out.extend(b"line too long\n");
                }
            }
        }
    }

    fn answer(&mut self, line: &[u8]) {
        if line == b"quit" {
            self.out.extend(b"bye\n");
            self.over = true;
        } else if line.starts_with(b"!panic") {
            self.over = true;
        } else {
            self.number += 1;
            self.out.extend(format!("{}: ", self.number).bytes().chain(line.iter().copied()).chain([b'\n']));
        }
    }

    /// The client read these bytes.
    pub fn got(&mut self, bytes: &[u8]) {
        if bytes.first() == Some(&b's') && self.lines == 0 && self.at_line_start && !self.refused {
            self.refused = true;
            self.over = true;
            self.out = b"server full\n".iter().copied().collect();
        }
        for (at, &byte) in bytes.iter().enumerate() {
            if self.at_line_start && byte == b'*' {
                self.in_push = true;
            }
            if !self.in_push {
                let expected = self.out.pop_front();
                assert!(
                    expected == Some(byte),
                    "line {}: got {:?} where {:?} was to come, in {:?}",
                    self.lines,
                    byte as char,
                    expected.map(char::from),
                    bytes[at.saturating_sub(20)..].iter().take(60).map(|&byte| byte as char).collect::<String>()
                );
            }
            self.at_line_start = byte == b'\n';
            if self.at_line_start {
                match std::mem::take(&mut self.in_push) {
                    true => self.pushes += 1,
                    false => self.lines += 1,
                }
            }
        }
    }

    /// Whether every reply came that was due.
    pub fn is_answered(&self) -> bool {
        self.out.is_empty() && self.at_line_start
    }

    /// Whether the server closes by itself.
    pub fn is_over(&self) -> bool {
        self.over
    }
}

#[test]
fn it_expects_what_the_rules_say() {
    let mut expect = Expect::new(8);
    expect.sent(b"a\r\n\nquit\nx\n");
    expect.got(b"ready\n1: a\n*news\n2: \nbye\n");
    assert!(expect.is_answered() && expect.is_over());
    assert_eq!((expect.lines, expect.pushes), (4, 1));
    let mut expect = Expect::new(8);
    expect.sent(b"1234567\n12345678");
    expect.got(b"ready\n1: 1234567\nline too lon");
    assert!(!expect.is_answered());
    expect.got(b"g\n");
    assert!(expect.is_answered());
    let mut expect = Expect::new(8);
    expect.got(b"server full\n");
    assert!(expect.is_answered() && expect.refused);
}

#[test]
#[should_panic(expected = "line 1: got '2' where Some('1') was to come")]
fn it_finds_a_wrong_byte() {
    let mut expect = Expect::new(8);
    expect.sent(b"a\n");
    expect.got(b"ready\n2: a\n");
}
