//! Reads the conversations under `transcripts/`, whose format that folder's README describes.
//!
//! This file needs nothing but `core`, not even an allocator, and nothing else of this package, so that any test of any
//! environment can take it in as a module (`#[path]`) and replay the same conversations: a simulation, another runtime,
//! a microcontroller.

use core::fmt;

/// A conversation that follows the format's rules.
#[derive(Clone, Copy, Debug)]
pub struct Transcript<'a> {
    text: &'a str,
}

/// One step of a conversation.
#[derive(Clone, Debug)]
pub enum Step<'a> {
    /// `>`: the client sends these bytes.
    Send(Bytes<'a>),
    /// `<`: exactly these bytes come from the server.
    Expect(Bytes<'a>),
    /// `>end`: the client ends its stream.
    SendEnd,
    /// `<end`: the server ends its stream.
    ExpectEnd,
}

/// What is wrong with a text, and in which line (counted from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line's number.
    pub line: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl<'a> Transcript<'a> {
    /// Checks the whole text.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &'a str) -> Result<Transcript<'a>, Mistake> {
        let (mut client_ended, mut server_ended) = (false, false);
        let mut last = 0;
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let mistake = |what| Mistake { line: line_number, what };
            last = line_number;
            let Some(step) = step(line).map_err(mistake)? else { continue };
            if server_ended {
                return Err(mistake("nothing can follow `<end`"));
            }
            match step {
                Step::Send(_) | Step::SendEnd if client_ended => {
                    return Err(mistake("the client says nothing more after `>end`"));
                }
                Step::SendEnd => client_ended = true,
                Step::ExpectEnd => server_ended = true,
                Step::Send(_) | Step::Expect(_) => {}
            }
        }
        if !server_ended {
            return Err(Mistake { line: last, what: "a conversation ends with `<end`" });
        }
        Ok(Transcript { text })
    }

    /// The steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step<'a>> + use<'a> {
        self.text.lines().filter_map(|line| step(line).unwrap_or(None))
    }

    /// All that the client sends.
    pub fn client_bytes(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.steps().flat_map(|step| match step {
            Step::Send(bytes) => bytes,
            Step::Expect(_) | Step::SendEnd | Step::ExpectEnd => Bytes::NONE,
        })
    }

    /// All that must come from the server.
    pub fn server_bytes(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.steps().flat_map(|step| match step {
            Step::Expect(bytes) => bytes,
            Step::Send(_) | Step::SendEnd | Step::ExpectEnd => Bytes::NONE,
        })
    }

    /// Whether the server ends its stream although the client has not ended its own.
    pub fn server_ends_first(&self) -> bool {
        !self.steps().any(|step| matches!(step, Step::SendEnd))
    }
}

/// What a line says; a comment or an empty line says nothing.
fn step(line: &str) -> Result<Option<Step<'_>>, &'static str> {
    Ok(Some(match line {
        ">end" => Step::SendEnd,
        "<end" => Step::ExpectEnd,
        _ if line.is_empty() || line.starts_with('#') => return Ok(None),
        _ => match line.split_at_checked(2) {
            Some(("> ", rest)) => Step::Send(Bytes::parse(rest)?),
            Some(("< ", rest)) => Step::Expect(Bytes::parse(rest)?),
            _ => return Err("a line starts with `> `, `< ` or `#`, or is `>end` or `<end`"),
        },
    }))
}

/// The bytes that a line stands for.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    /// What has not been read yet.
    text: &'a [u8],
    /// A repetition being given out: what is repeated, what is left of this round, how many rounds come after it.
    repeated: &'a [u8],
    round: &'a [u8],
    rounds_left: usize,
}

impl<'a> Bytes<'a> {
    const NONE: Bytes<'static> = Bytes { text: b"", repeated: b"", round: b"", rounds_left: 0 };

    fn parse(text: &'a str) -> Result<Bytes<'a>, &'static str> {
        let bytes = Bytes { text: text.as_bytes(), ..Bytes::NONE };
        let mut rest = bytes.text;
        while !rest.is_empty() {
            rest = match rest {
                [b'{', ..] => {
                    let (mut inside, _, behind) = repetition(rest)?;
                    while !inside.is_empty() {
                        inside = unit(inside)?.1;
                    }
                    behind
                }
                _ => unit(rest)?.1,
            };
        }
        Ok(bytes)
    }
}

impl Iterator for Bytes<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        loop {
            if let Ok((byte, rest)) = unit(self.round) {
                self.round = rest;
                return Some(byte);
            }
            if self.rounds_left > 0 {
                self.rounds_left -= 1;
                self.round = self.repeated;
            } else if let Ok((inside, times, behind)) = repetition(self.text) {
                (self.repeated, self.rounds_left, self.text) = (inside, times, behind);
            } else {
                let (byte, rest) = unit(self.text).ok()?;
                self.text = rest;
                return Some(byte);
            }
        }
    }
}

/// Splits `{inside*times}` off the front.
fn repetition(text: &[u8]) -> Result<(&[u8], usize, &[u8]), &'static str> {
    let [b'{', body @ ..] = text else { return Err("no repetition") };
    let close = unescaped(body, b'}').ok_or("a `{` without its `}`")?;
    let (inside, behind) = (&body[..close], &body[close + 1..]);
    let star = inside.iter().rposition(|&byte| byte == b'*').ok_or("a repetition is written `{bytes*times}`")?;
    let (inside, count) = (&inside[..star], &inside[star + 1..]);
    let times = core::str::from_utf8(count).ok().and_then(|count| count.parse().ok());
    let times = times.ok_or("the number of times is not a number")?;
    if inside.is_empty() {
        // Repeating nothing would go round for ever.
        return Err("a repetition of nothing");
    }
    Ok((inside, times, behind))
}

/// Where `wanted` stands without a backslash before it.
fn unescaped(text: &[u8], wanted: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == wanted => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// Takes one byte, escaped or plain, off the front.
fn unit(text: &[u8]) -> Result<(u8, &[u8]), &'static str> {
    match text {
        [] => Err("nothing is left"),
        [b'\\', b'n', rest @ ..] => Ok((b'\n', rest)),
        [b'\\', b'r', rest @ ..] => Ok((b'\r', rest)),
        [b'\\', b't', rest @ ..] => Ok((b'\t', rest)),
        [b'\\', b'0', rest @ ..] => Ok((0, rest)),
        [b'\\', b'x', high, low, rest @ ..] => match (hex(*high), hex(*low)) {
            (Some(high), Some(low)) => Ok((high * 16 + low, rest)),
            _ => Err("`\\x` takes two hexadecimal digits"),
        },
        [b'\\', byte @ (b'\\' | b'{' | b'}' | b'*'), rest @ ..] => Ok((*byte, rest)),
        [b'\\', ..] => Err("an unknown escape"),
        [b'{' | b'}', ..] => Err("a brace that stands for itself is written `\\{` or `\\}`"),
        [byte @ b' '..=b'~', rest @ ..] => Ok((*byte, rest)),
        _ => Err("a byte that is not printable ASCII is written `\\xHH`"),
    }
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn sent(line: &str) -> Vec<u8> {
        let text = std::format!("> {line}\n<end\n");
        let transcript = Transcript::parse(&text).unwrap_or_else(|mistake| panic!("{line}: {mistake}"));
        transcript.client_bytes().collect()
    }

    fn mistake(text: &str) -> Mistake {
        Transcript::parse(text).unwrap_err()
    }

    #[test]
    fn escapes_and_repetitions() {
        assert_eq!(sent("a b"), b"a b");
        assert_eq!(sent(r"\n\r\t\0\\\x0a\xff\{\}"), b"\n\r\t\0\\\n\xff{}");
        assert_eq!(sent("{a*3}b{\\n*2}{ab\\}*2}*"), b"aaab\n\nab}ab}*");
        assert_eq!(sent("{a*0}b"), b"b");
        assert_eq!(sent("{a**2}"), b"a*a*");
        assert_eq!(sent("{a*4095}").len(), 4095);
    }

    #[test]
    fn steps_keep_their_order() {
        let text = "# Title\n\n< ready\\n\n> a\n> b\\n\n< 1: ab\\n\n>end\n<end\n";
        let transcript = Transcript::parse(text).unwrap();
        let kinds: Vec<char> = transcript
            .steps()
            .map(|step| match step {
                Step::Send(_) => '>',
                Step::Expect(_) => '<',
                Step::SendEnd => ')',
                Step::ExpectEnd => '(',
            })
            .collect();
        assert_eq!(kinds, ['<', '>', '>', '<', ')', '(']);
        assert_eq!(transcript.client_bytes().collect::<Vec<u8>>(), b"ab\n");
        assert_eq!(transcript.server_bytes().collect::<Vec<u8>>(), b"ready\n1: ab\n");
        assert!(!transcript.server_ends_first());
        assert!(Transcript::parse("> quit\\n\n<end").unwrap().server_ends_first());
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        assert_eq!(mistake("# only a comment\n").line, 1);
        assert_eq!(mistake("<end\n> a\n").line, 2);
        assert_eq!(mistake(">end\n> a\n<end\n").line, 2);
        for bad in
            ["a", ">a", "> \\q", "> \\x0", "> \\xFF", "> {a*}", "> {a}", "> {*3}", "> {a*3", "> }", "> \u{e9}"]
        {
            assert_eq!(mistake(&std::format!("# x\n{bad}\n<end\n")).line, 2, "{bad}");
        }
        assert!(std::format!("{}", mistake("x")).starts_with("line 1: "));
    }
}
