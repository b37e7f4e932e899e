//! What one writes for this protocol without an engine: what the core is measured against.

use super::{Contestant, PIECE_BYTES_MAX, receive};

/// Bytes of a reply around its line at most: 20 digits, colon, space, LF.
const AROUND: usize = 23;

/// A loop over two buffers of a server's size: find the LF, take off a CR, write the digits, copy the line.
///
/// It has no state but the number and the bytes: no limit of a line, no time, no end, no peer that does not read.
pub struct ByHand {
    buffers: Box<[[u8; PIECE_BYTES_MAX]; 2]>,
    start: usize,
    searched: usize,
    end: usize,
    number: u64,
    over: bool,
}

impl Default for ByHand {
    fn default() -> Self {
        ByHand {
            buffers: Box::new([[0; PIECE_BYTES_MAX]; 2]),
            start: 0,
            searched: 0,
            end: 0,
            number: 0,
            over: false,
        }
    }
}

impl Contestant for ByHand {
    fn answer(&mut self, mut stream: &[u8], piece_bytes: usize, mut send: impl FnMut(&[u8])) {
        while !stream.is_empty() && !self.over {
            self.make_space();
            self.end += receive(&mut stream, piece_bytes, &mut self.buffers[0][self.end..]);
            self.answer_lines(&mut send);
        }
    }
}

impl ByHand {
    /// The rest of a line moves to the front where that is cheap or needed.
    fn make_space(&mut self) {
        let rest = self.end - self.start;
        if self.start > 0 && (rest <= self.start || self.end == PIECE_BYTES_MAX) {
            self.buffers[0].copy_within(self.start..self.end, 0);
            (self.start, self.searched, self.end) = (0, self.searched - self.start, rest);
        }
    }

    fn answer_lines(&mut self, send: &mut impl FnMut(&[u8])) {
        let [input, output] = &mut *self.buffers;
        let mut written = 0;
        let mut digits = itoa::Buffer::new();
        while let Some(at) = memchr::memchr(b'\n', &input[self.searched..self.end]) {
            let after = self.searched + at + 1;
            let line = &input[self.start..after - 1];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            (self.start, self.searched) = (after, after);
            if line == b"quit" {
                self.over = true;
                break;
            }
            self.number += 1;
            let digits = digits.format(self.number).as_bytes();
            if output.len() - written < line.len() + AROUND {
                send(&output[..written]);
                written = 0;
            }
            let prefix = digits.len() + 2;
            output[written..][..digits.len()].copy_from_slice(digits);
            output[written + digits.len()..][..2].copy_from_slice(b": ");
            written += prefix;
            let fits = line.len().min(output.len() - written);
            output[written..][..fits].copy_from_slice(&line[..fits]);
            written += fits;
            if written == output.len() {
                send(&output[..written]);
                written = line.len() - fits;
                output[..written].copy_from_slice(&line[fits..]);
            }
            output[written] = b'\n';
            written += 1;
        }
        if self.over {
            send(&output[..written]);
            return send(b"bye\n");
        }
        self.searched = self.end;
        if written > 0 {
            send(&output[..written]);
        }
    }
}
