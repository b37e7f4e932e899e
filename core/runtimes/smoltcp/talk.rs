//! What a client says, when, and what it must hear: a transcript in one manner.

use std::collections::VecDeque;

use evserver_conformance::transcript::{Step, Transcript};
use evserver_conformance::{Manner, Random};

/// Random pieces are at most this long: a long line falls into several, a short one into bytes.
const LONGEST_CUT_BYTES: usize = 1500;

/// How late a late reader is, in milliseconds: longer than the stack puts anything off but a retransmission.
const LATE_MS: u32 = 200;

/// A conversation's client.
pub struct Talk {
    /// For whoever reads of a failure.
    pub name: String,
    pub pieces: VecDeque<Piece>,
    /// It ends its stream behind the last piece, and not only when the server has ended its own.
    pub ends: bool,
    /// It reads nothing for so many milliseconds.
    pub late_ms: u32,
    pub expected: Vec<u8>,
}

/// Bytes that are sent in one go.
pub struct Piece {
    /// Not before so many bytes have come.
    pub after: usize,
    pub bytes: Vec<u8>,
}

impl Talk {
    pub fn new(name: &str, transcript: &Transcript<'_>, manner: Manner, random: &mut Random) -> Talk {
        let sent: Vec<u8> = transcript.client_bytes().collect();
        let pieces = match manner {
            Manner::InTurns => in_turns(transcript),
            Manner::Whole | Manner::WithEndBehind | Manner::LateReader => at_any_time([&sent[..]]),
            // The end of the stream comes by itself.
            Manner::ByteByByte => at_any_time(sent.chunks(1).chain([&[][..]])),
            Manner::RandomCuts => at_any_time(random.cuts(&sent, LONGEST_CUT_BYTES).into_iter().chain([&[][..]])),
        };
        Talk {
            name: format!("{name}, {}", manner.name()),
            pieces,
            ends: manner == Manner::WithEndBehind || !transcript.server_ends_first(),
            late_ms: if manner == Manner::LateReader { LATE_MS } else { 0 },
            expected: transcript.server_bytes().collect(),
        }
    }
}

fn at_any_time<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> VecDeque<Piece> {
    pieces.into_iter().map(|bytes| Piece { after: 0, bytes: bytes.to_vec() }).collect()
}

fn in_turns(transcript: &Transcript<'_>) -> VecDeque<Piece> {
    let mut after = 0;
    let mut pieces = VecDeque::new();
    for step in transcript.steps() {
        match step {
            Step::Send(bytes) => pieces.push_back(Piece { after, bytes: bytes.collect() }),
            Step::Expect(bytes) => after += bytes.count(),
            // Each is the last of its kind. An empty piece makes the end wait for what comes before it.
            Step::SendEnd => pieces.push_back(Piece { after, bytes: Vec::new() }),
            Step::ExpectEnd => {}
        }
    }
    pieces
}
