//! What else finds lines: nothing but the search and the copy, tokio's codec, and the standard library.

use std::io::{BufRead, BufReader, Read};

use evserver_load::framing::{Contestant, PIECE_BYTES_MAX, receive};
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder, LinesCodec};

/// Search for the LF and copy of the line: no numbers, so it sends the lines as they are. No line server is faster.
pub struct BareCopy {
    input: Box<[u8; PIECE_BYTES_MAX]>,
    output: Box<[u8; PIECE_BYTES_MAX]>,
}

impl Default for BareCopy {
    fn default() -> Self {
        BareCopy { input: Box::new([0; PIECE_BYTES_MAX]), output: Box::new([0; PIECE_BYTES_MAX]) }
    }
}

impl Contestant for BareCopy {
    fn answer(&mut self, mut stream: &[u8], piece_bytes: usize, mut send: impl FnMut(&[u8])) {
        while !stream.is_empty() {
            let end = receive(&mut stream, piece_bytes, &mut self.input[..]);
            let mut start = 0;
            while let Some(at) = memchr::memchr(b'\n', &self.input[start..end]) {
                let after = start + at + 1;
                self.output[start..after].copy_from_slice(&self.input[start..after]);
                start = after;
            }
            // The piece of a line that is not complete: no server could send it yet, here it goes along.
            self.output[start..end].copy_from_slice(&self.input[start..end]);
            send(&self.output[..end]);
        }
    }

    fn model(stream: &[u8]) -> Vec<u8> {
        stream.to_vec()
    }
}

/// tokio-util's LinesCodec, both ways.
pub struct Lines {
    codec: LinesCodec,
    piece: Box<[u8; PIECE_BYTES_MAX]>,
    input: BytesMut,
    output: BytesMut,
    number: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Lines {
            codec: LinesCodec::new(),
            piece: Box::new([0; PIECE_BYTES_MAX]),
            input: BytesMut::with_capacity(2 * PIECE_BYTES_MAX),
            output: BytesMut::with_capacity(2 * PIECE_BYTES_MAX),
            number: 0,
        }
    }
}

impl Contestant for Lines {
    fn answer(&mut self, mut stream: &[u8], piece_bytes: usize, mut send: impl FnMut(&[u8])) {
        while !stream.is_empty() {
            let count = receive(&mut stream, piece_bytes, &mut self.piece[..]);
            self.input.extend_from_slice(&self.piece[..count]);
            while let Some(line) = self.codec.decode(&mut self.input).expect("lines of text") {
                self.number += 1;
                let reply = format!("{}: {line}", self.number);
                self.codec.encode(reply, &mut self.output).expect("there is always room");
                if self.output.len() >= PIECE_BYTES_MAX {
                    send(&self.output);
                    self.output.clear();
                }
            }
            if !self.output.is_empty() {
                send(&self.output);
                self.output.clear();
            }
        }
    }
}

/// `BufRead::read_until` into one vector that is used again, digits by itoa.
#[derive(Default)]
pub struct ReadUntil {
    line: Vec<u8>,
    output: Vec<u8>,
    number: u64,
}

impl Contestant for ReadUntil {
    fn answer(&mut self, stream: &[u8], piece_bytes: usize, mut send: impl FnMut(&[u8])) {
        let mut reader = BufReader::with_capacity(PIECE_BYTES_MAX, Pieces { stream, piece_bytes });
        let mut digits = itoa::Buffer::new();
        loop {
            self.line.clear();
            if reader.read_until(b'\n', &mut self.line).expect("memory does not fail") == 0 {
                break;
            }
            self.number += 1;
            self.output.extend_from_slice(digits.format(self.number).as_bytes());
            self.output.extend_from_slice(b": ");
            self.output.extend_from_slice(&self.line);
            // What is sent late would never be sent: the next read may block.
            if reader.buffer().is_empty() || self.output.len() >= PIECE_BYTES_MAX {
                send(&self.output);
                self.output.clear();
            }
        }
        send(&self.output);
        self.output.clear();
    }
}

/// A stream in pieces, as `Read` gives it.
struct Pieces<'a> {
    stream: &'a [u8],
    piece_bytes: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
        Ok(receive(&mut self.stream, self.piece_bytes, space))
    }
}
