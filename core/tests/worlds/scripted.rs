//! A protocol that uses every step there is, and what it says, without buffers.

use evserver_core::{CloseReason, LineEnd, Next, Protocol, Reply, Ticket};

/// What a timer says, in two calls: nothing may come between the halves.
pub const TICK: [u8; 2] = *b"\x01\x02";

/// What is pushed: nothing may come between the halves.
pub const PUSH: [u8; 2] = *b"\x03\x04";

/// Milliseconds after which a ticket of an `x` expires.
pub const TICKET_MS: u32 = 10;

/// Milliseconds after which the timer of a `t` is due.
pub const TIMER_MS: u32 = 5;

const MORE: &[u8] = b"mmmmmmmmmmmm";
const TOO_LONG: &[u8] = b"too long!";

/// Takes a line for a command:
///
/// | line | what follows |
/// |---|---|
/// | `bN` | a body of N bytes, which is said as it arrives, then a point |
/// | `sN` | N bytes that are dropped |
/// | `m` | a reply larger than any buffer here |
/// | `l`, `x` | an answer from elsewhere; that of `x` is waited for so long |
/// | `t` | a timer is set |
/// | `q` | the close |
/// | else | the line is said |
///
/// With `STRICT`, lines end in CR LF and nothing else.
#[derive(Clone, Debug, Default)]
pub struct Scripted<const STRICT: bool> {
    /// Bytes of the present reply that were written.
    written: usize,
    /// The answer that is waited for.
    pub ticket: Option<Ticket>,
    /// Answers that came and ones that did not, in order.
    pub answers: Vec<bool>,
    /// The first half of a tick was said.
    half: bool,
}

impl<const STRICT: bool> Scripted<STRICT> {
    /// Says the rest of `text`, then `next` follows.
    fn say(&mut self, text: &[u8], next: Next, reply: &mut Reply<'_>) -> Next {
        self.written += reply.put_some(&text[self.written..]);
        if self.written < text.len() {
            return Next::More;
        }
        self.written = 0;
        next
    }

    fn ask(&mut self, timeout_ms: u32, reply: &mut Reply<'_>) -> Next {
        let ticket = reply.ticket(timeout_ms);
        self.ticket = Some(ticket);
        Next::Later(ticket)
    }
}

/// The number behind a command's letter.
fn count(digit: u8) -> Option<u64> {
    digit.is_ascii_digit().then(|| u64::from(digit - b'0'))
}

impl<const STRICT: bool> Protocol for Scripted<STRICT> {
    const LINE_END: LineEnd = if STRICT { LineEnd::CrLf } else { LineEnd::Newline };

    fn room(&self, len: usize) -> usize {
        len + 2
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(b"hello", Next::Line, reply)
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        match *line {
            [b'b', digit] if let Some(n) = count(digit) => Next::Body(n),
            [b's', digit] if let Some(n) = count(digit) => self.say(b"s", Next::Skip(n), reply),
            [b'm'] => self.say(MORE, Next::Line, reply),
            [b'l'] => self.ask(0, reply),
            [b'x'] => self.ask(TICKET_MS, reply),
            [b't'] => {
                reply.set_timer(TIMER_MS);
                self.say(b"t", Next::Line, reply)
            }
            [b'q'] => self.say(b"q", Next::Close, reply),
            _ => self.say(&[b"=", line, b";"].concat(), Next::Line, reply),
        }
    }

    fn body(&mut self, part: &[u8], left: u64, reply: &mut Reply<'_>) -> Next {
        match left {
            0 => self.say(&[part, b"."].concat(), Next::Line, reply),
            _ => self.say(part, Next::Body(left), reply),
        }
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(TOO_LONG, Next::Line, reply)
    }

    fn bare_newline(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(b"?", Next::Line, reply)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        let next = self.say(b"L", Next::Line, reply);
        if next == Next::Line {
            self.answers.push(true);
        }
        next
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        let next = self.say(b"X", Next::Line, reply);
        if next == Next::Line {
            self.answers.push(false);
        }
        next
    }

    fn timer(&mut self, reply: &mut Reply<'_>) -> Next {
        let half = TICK[usize::from(self.half)];
        self.half = !self.half;
        reply.put(&[half]).expect("an empty output");
        if self.half { Next::More } else { Next::Line }
    }

    fn end(&mut self, tail: &[u8], reply: &mut Reply<'_>) -> Next {
        self.say(&[b"e", tail].concat(), Next::Close, reply)
    }
}

/// What stands behind the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Perhaps more.
    Open,
    /// The peer's end.
    End,
    /// The end of the last turn of a shutdown.
    Drain,
}

/// What the protocol has said, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    ForInput,
    ForAnswer,
    Over(CloseReason),
}

/// What comes next in the input.
enum Mode {
    Line,
    RestOfLine,
    Body(u64),
    Skip(u64),
}

/// What is said to `input` over buffers of `n` bytes, but for ticks and pushes; `answers` are those that came.
pub fn scripted(strict: bool, n: usize, input: &[u8], behind: Behind, answers: &[bool]) -> (Vec<u8>, Waits) {
    let mut said = b"hello".to_vec();
    let (mut rest, mut answers, mut mode) = (input, answers.iter(), Mode::Line);
    loop {
        let newline = rest.iter().position(|&byte| byte == b'\n');
        let mut ended = false;
        match mode {
            Mode::Line => match newline {
                _ if newline.unwrap_or(rest.len()) >= n => {
                    said.extend(TOO_LONG);
                    mode = Mode::RestOfLine;
                }
                None => ended = true,
                Some(at) => {
                    let (line, behind) = (&rest[..at], &rest[at + 1..]);
                    rest = behind;
                    let stripped = line.strip_suffix(b"\r");
                    if strict && stripped.is_none() {
                        said.push(b'?');
                        mode = Mode::RestOfLine;
                        continue;
                    }
                    match *stripped.unwrap_or(line) {
                        [b'b', digit] if let Some(n) = count(digit) => mode = Mode::Body(n),
                        [b's', digit] if let Some(n) = count(digit) => {
                            said.push(b's');
                            mode = Mode::Skip(n);
                        }
                        [b'm'] => said.extend(MORE),
                        [b'l' | b'x'] => match answers.next() {
                            Some(came) => said.push(if *came { b'L' } else { b'X' }),
                            None => return (said, Waits::ForAnswer),
                        },
                        [b't'] => said.push(b't'),
                        [b'q'] => {
                            said.push(b'q');
                            return (said, Waits::Over(CloseReason::Protocol));
                        }
                        ref line => said.extend([b"=", line, b";"].concat()),
                    }
                }
            },
            Mode::RestOfLine => match newline {
                None => {
                    // What is there of it is no tail.
                    rest = if behind == Behind::Open { rest } else { &[] };
                    ended = true;
                }
                Some(at) => {
                    if !strict || rest[..at].ends_with(b"\r") {
                        mode = Mode::Line;
                    }
                    rest = &rest[at + 1..];
                }
            },
            Mode::Body(left) => {
                let (part, behind) = rest.split_at(rest.len().min(left as usize));
                said.extend(part);
                rest = behind;
                mode = Mode::Body(left - part.len() as u64);
                ended = !matches!(mode, Mode::Body(0));
                if !ended {
                    said.push(b'.');
                    mode = Mode::Line;
                }
            }
            Mode::Skip(left) => {
                let here = rest.len().min(left as usize);
                rest = &rest[here..];
                mode = Mode::Skip(left - here as u64);
                ended = !matches!(mode, Mode::Skip(0));
                if !ended {
                    mode = Mode::Line;
                }
            }
        }
        match behind {
            _ if !ended => {}
            Behind::Open => return (said, Waits::ForInput),
            Behind::Drain => return (said, Waits::Over(CloseReason::Drained)),
            Behind::End => {
                said.push(b'e');
                said.extend(rest);
                return (said, Waits::Over(CloseReason::PeerEnd));
            }
        }
    }
}

#[test]
fn the_scripted_model_says_what_its_table_says() {
    let check = |strict, input: &[u8], behind, answers: &[bool], said: &str, waits| {
        let (got, how) = scripted(strict, 8, input, behind, answers);
        assert_eq!(
            (String::from_utf8(got).unwrap(), how),
            (format!("hello{said}"), waits),
            "{}",
            input.escape_ascii()
        );
    };
    let (end, drain) = (Waits::Over(CloseReason::PeerEnd), Waits::Over(CloseReason::Drained));
    check(false, b"a\r\n\nb3\n\nq\nm\n", Behind::Open, &[], "=a;=;\nq\n.mmmmmmmmmmmm", Waits::ForInput);
    check(false, b"s2\nq\nb0\nq\nx", Behind::Open, &[], "s.q", Waits::Over(CloseReason::Protocol));
    check(false, b"l\nx\na\nl\n", Behind::End, &[true, false], "LX=a;", Waits::ForAnswer);
    check(false, b"12345678901\n1234567\n", Behind::Open, &[], "too long!=1234567;", Waits::ForInput);
    check(false, b"tail", Behind::End, &[], "etail", end.clone());
    check(false, b"tail", Behind::Drain, &[], "", drain);
    check(false, b"1234567890", Behind::End, &[], "too long!e", end.clone());
    check(false, b"b9\nab", Behind::End, &[], "abe", end);
    check(true, b"a\nb\nc\r\nd\r\ne\rf\r\n", Behind::Open, &[], "?=d;=e\rf;", Waits::ForInput);
}
