//! What the server owes a client for the bytes that it received: lengths only.

/// Bytes of a line that are looked at for a word: the longest word, and a carriage return.
const HEAD_BYTES: usize = 7;

/// Kept at the server's end of a link.
#[derive(Debug)]
pub struct Tally {
    /// Bytes before the newline that still are a line.
    longest: usize,
    line_bytes: usize,
    head: [u8; HEAD_BYTES],
    behind_return: bool,
    number: u64,
    /// Bytes that are to be sent for what came up to now, all in all.
    pub owed: u64,
    /// Nothing that comes from now on is answered.
    pub over: bool,
    /// When the first byte of the line that is not whole came.
    pub line_since_us: Option<u64>,
}

impl Tally {
    pub fn new(buffer_bytes: usize) -> Self {
        Self {
            longest: buffer_bytes - 1,
            line_bytes: 0,
            head: [0; HEAD_BYTES],
            behind_return: false,
            number: 0,
            owed: "ready\n".len() as u64,
            over: false,
            line_since_us: None,
        }
    }

    /// The client is to be told that the server is full, and nothing else.
    pub fn refuse(&mut self) {
        self.owed = "server full\n".len() as u64;
        self.over = true;
    }

    pub fn received(&mut self, bytes: &[u8], clock_us: u64) {
        for &byte in bytes {
            if self.over {
                return;
            }
            if byte == b'\n' {
                self.answer();
                continue;
            }
            self.line_since_us.get_or_insert(clock_us);
            if let Some(place) = self.head.get_mut(self.line_bytes) {
                *place = byte;
            }
            self.line_bytes += 1;
            self.behind_return = byte == b'\r';
            if self.line_bytes > self.longest {
                self.close("line too long\n");
            }
        }
    }

    fn answer(&mut self) {
        let bytes = self.line_bytes - usize::from(self.behind_return);
        match &self.head[..bytes.min(HEAD_BYTES)] {
            b"quit" => self.close("bye\n"),
            [b'!', b'p', ..] => self.close(""),
            _ => {
                self.number += 1;
                self.owed += u64::from(self.number.ilog10()) + 1 + ": \n".len() as u64 + bytes as u64;
            }
        }
        self.line_bytes = 0;
        self.behind_return = false;
        self.line_since_us = None;
    }

    fn close(&mut self, reply: &str) {
        self.owed += reply.len() as u64;
        self.over = true;
        self.line_since_us = None;
    }
}

#[test]
fn it_owes_what_the_rules_say() {
    for (received, owed, over) in [
        (&b""[..], "ready\n", false),
        (b"a\r\n\n\r\n12345", "ready\n1: a\n2: \n3: \n", false),
        (b"quit\r\nab\n", "ready\nbye\n", true),
        (b"!panic\nab\n", "ready\n", true),
        (b"1234567\n", "ready\n1: 1234567\n", false),
        (b"12345678\n", "ready\nline too long\n", true),
        (
            b"1\n2\n3\n4\n5\n6\n7\n8\n9\n\n",
            "ready\n1: 1\n2: 1\n3: 1\n4: 1\n5: 1\n6: 1\n7: 1\n8: 1\n9: 1\n10: \n",
            false,
        ),
    ] {
        let mut tally = Tally::new(8);
        tally.received(received, 7);
        assert_eq!((tally.owed, tally.over), (owed.len() as u64, over), "{}", received.escape_ascii());
        assert_eq!(tally.line_since_us, received.ends_with(b"5").then_some(7));
    }
}
