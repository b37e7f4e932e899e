//! What must be said, without buffers: the whole input at once, a line at a time.

use evserver_core::CloseReason;

/// Everything that is said to an input, and the reason for the close if there is one before more input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub output: Vec<u8>,
    pub closed: Option<CloseReason>,
}

/// What a protocol says; the shape that the numbered echo and the tiny one share.
pub struct Words {
    pub greeting: &'static [u8],
    pub quit: &'static [u8],
    pub goodbye: &'static [u8],
    pub too_long: &'static [u8],
    pub reply: fn(u64, &[u8]) -> Vec<u8>,
}

pub const NUMBERED: Words = Words {
    greeting: b"ready\n",
    quit: b"quit",
    goodbye: b"bye\n",
    too_long: b"line too long\n",
    reply: |number, line| [format!("{number}: ").as_bytes(), line, b"\n"].concat(),
};

/// What is said to `input` over buffers of `n` bytes; `ended`: the peer's end stands behind it.
pub fn model(words: &Words, n: usize, mut input: &[u8], ended: bool) -> Said {
    let mut output = words.greeting.to_vec();
    let mut number = 0;
    let closed = loop {
        let end = input.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(input.len()) >= n {
            output.extend(words.too_long);
            break Some(CloseReason::Protocol);
        }
        let Some(end) = end else { break ended.then_some(CloseReason::PeerEnd) };
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        input = &input[end + 1..];
        if line == words.quit {
            output.extend(words.goodbye);
            break Some(CloseReason::Protocol);
        }
        number += 1;
        output.extend((words.reply)(number, line));
    };
    Said { output, closed }
}
