//! The numbered echo as a function, too simple to be wrong: what all the input of a connection is answered with.

/// Bytes before the line feed that still are a line, a carriage return among them.
pub const LONGEST_LINE_BYTES: usize = 4095;

/// What the server says to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Everything, the greeting first.
    pub bytes: Vec<u8>,
    /// Whether the server ends the conversation by itself; else it waits for more, or for the client's end.
    pub closes: bool,
}

/// The answer to all that a client sends before it ends its stream.
pub fn answer(mut input: &[u8]) -> Answer {
    let mut bytes = b"ready\n".to_vec();
    let mut number = 0u64;
    loop {
        let line_feed = input.iter().position(|&byte| byte == b'\n');
        if line_feed.unwrap_or(input.len()) > LONGEST_LINE_BYTES {
            bytes.extend_from_slice(b"line too long\n");
            return Answer { bytes, closes: true };
        }
        let Some(line_feed) = line_feed else { return Answer { bytes, closes: false } };
        let line = &input[..line_feed];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line == b"quit" {
            bytes.extend_from_slice(b"bye\n");
            return Answer { bytes, closes: true };
        }
        number += 1;
        bytes.extend_from_slice(format!("{number}: ").as_bytes());
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        input = &input[line_feed + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], bytes: &[u8], closes: bool) {
        assert_eq!(answer(input), Answer { bytes: bytes.to_vec(), closes });
    }

    #[test]
    fn it_does_what_the_rules_say() {
        check(b"", b"ready\n", false);
        check(b"a\r\n\nb\rc\n\r\r\ntail", b"ready\n1: a\n2: \n3: b\rc\n4: \r\n", false);
        check(b"a\nquit\nb\n", b"ready\n1: a\nbye\n", true);
        check(b"quit\r\n", b"ready\nbye\n", true);
        check(b"quit", b"ready\n", false);
        check(b"QUIT\n", b"ready\n1: QUIT\n", false);
    }

    #[test]
    fn the_limit_is_before_the_line_feed() {
        let longest = [b'a'; LONGEST_LINE_BYTES];
        check(&longest, b"ready\n", false);
        let whole = [&longest[..], b"\n"].concat();
        check(&whole, &[b"ready\n1: ", &whole[..]].concat(), false);
        check(&[&longest[..], b"a"].concat(), b"ready\nline too long\n", true);
        check(&[&longest[..], b"\r\n"].concat(), b"ready\nline too long\n", true);
        let with_return = [&longest[1..], b"\r\n"].concat();
        check(&with_return, &[b"ready\n1: ", &longest[1..], b"\n"].concat(), false);
    }
}
