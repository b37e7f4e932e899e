//! Bytes in, reply bytes out, without a socket: what finding lines, numbering and copying cost.
//!
//! A [`Contestant`] gets a stream of lines in pieces, as from receives, and hands over replies as to sends. The core
//! is one, a loop written by hand is another; `benches/framing` has more. [`check`] compares the bytes of any of them
//! with a model, so none can be fast by doing less.

mod by_hand;
mod in_core;
mod ratio;

pub use by_hand::ByHand;
pub use in_core::InCore;
pub use ratio::core_ratio;

/// The longest piece: what fits the buffer of a server.
pub const PIECE_BYTES_MAX: usize = 4096;

/// Who answers lines.
pub trait Contestant: Default {
    /// Answers all lines of `stream`, of which each receive gives at most `piece_bytes`. Replies go to `send`, and
    /// none is kept back when the next piece is received.
    fn answer(&mut self, stream: &[u8], piece_bytes: usize, send: impl FnMut(&[u8]));

    /// What is to be sent for `stream`.
    fn model(stream: &[u8]) -> Vec<u8> {
        numbered(stream)
    }
}

/// `lines` lines of `line_bytes` bytes each, without the LF; no two neighbours are alike.
pub fn lines(lines: usize, line_bytes: usize) -> Vec<u8> {
    let mut stream = Vec::with_capacity(lines * (line_bytes + 1));
    for line in 0..lines {
        stream.extend((0..line_bytes).map(|at| b'a' + ((line + at) % 26) as u8));
        stream.push(b'\n');
    }
    stream
}

/// The numbered echo, too simple to be wrong: what is sent for whole lines.
pub fn numbered(stream: &[u8]) -> Vec<u8> {
    let mut replies = Vec::new();
    for (before, line) in stream.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line == b"quit" {
            replies.extend_from_slice(b"bye\n");
            break;
        }
        replies.extend_from_slice(format!("{}: ", before + 1).as_bytes());
        replies.extend_from_slice(line);
        replies.push(b'\n');
    }
    replies
}

/// Whether the contestant sends what its model says.
pub fn check<C: Contestant>(stream: &[u8], piece_bytes: usize) -> bool {
    let mut sent = Vec::new();
    C::default().answer(stream, piece_bytes, |bytes| sent.extend_from_slice(bytes));
    sent == C::model(stream)
}

/// Receives: moves the first bytes of `stream` to the beginning of `space` and returns their number.
#[inline]
pub fn receive(stream: &mut &[u8], piece_bytes: usize, space: &mut [u8]) -> usize {
    let count = stream.len().min(piece_bytes).min(space.len());
    let (piece, rest) = stream.split_at(count);
    space[..count].copy_from_slice(piece);
    *stream = rest;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everywhere<C: Contestant>() {
        for line_bytes in [0, 1, 2, 31, 32, 1000, 4068, 4069, 4070, 4090, 4091, 4092, 4093, 4094, 4095] {
            let stream = lines(30, line_bytes);
            for piece_bytes in [1, 2, 33, 1000, 4095, PIECE_BYTES_MAX] {
                assert!(check::<C>(&stream, piece_bytes), "lines of {line_bytes}, pieces of {piece_bytes}");
            }
        }
    }

    #[test]
    fn both_send_the_models_bytes_however_they_are_cut() {
        everywhere::<InCore>();
        everywhere::<ByHand>();
    }

    #[test]
    fn numbers_of_two_and_more_digits_are_the_models() {
        let stream = lines(12_000, 3);
        assert!(check::<InCore>(&stream, PIECE_BYTES_MAX) && check::<ByHand>(&stream, PIECE_BYTES_MAX));
    }

    #[test]
    fn a_carriage_return_and_quit_are_the_models() {
        let stream = b"a\r\n\r\n\nb\r\r\nquit \nquit\r\nnot answered\n";
        assert_eq!(numbered(stream), b"1: a\n2: \n3: \n4: b\r\n5: quit \nbye\n");
        for piece_bytes in 1..=stream.len() {
            assert!(check::<InCore>(stream, piece_bytes), "{piece_bytes}");
            assert!(check::<ByHand>(stream, piece_bytes), "{piece_bytes}");
        }
    }

    #[test]
    fn a_wrong_byte_is_found() {
        #[derive(Default)]
        struct Wrong;
        impl Contestant for Wrong {
            fn answer(&mut self, stream: &[u8], _: usize, mut send: impl FnMut(&[u8])) {
                let mut replies = numbered(stream);
                if let Some(last) = replies.last_mut() {
                    *last = b'!';
                }
                send(&replies);
            }
        }
        assert!(!check::<Wrong>(&lines(3, 5), 1));
    }

    #[test]
    fn the_model_numbers_from_one() {
        assert_eq!(lines(2, 3), b"abc\nbcd\n");
        assert_eq!(numbered(b"abc\nbcd\n"), b"1: abc\n2: bcd\n");
    }
}
