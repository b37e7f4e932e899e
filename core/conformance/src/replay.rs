//! Plays a transcript's client against a server.

use std::net::SocketAddr;
use std::time::Duration;

use crate::case::Outcome;
use crate::client::Client;
use crate::random::Random;
use crate::transcript::{Step, Transcript};

/// How the bytes of the client reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As written: each line in a write, each reply read before the next.
    InTurns,
    /// All bytes in one write.
    Whole,
    /// One byte a write.
    ByteByByte,
    /// Cut at random.
    RandomCuts,
    /// All bytes and the end of the stream at once.
    WithEndBehind,
    /// All bytes at once, read after a while.
    LateReader,
}

impl Manner {
    /// Every one.
    pub const ALL: [Manner; 6] = [
        Manner::InTurns,
        Manner::Whole,
        Manner::ByteByByte,
        Manner::RandomCuts,
        Manner::WithEndBehind,
        Manner::LateReader,
    ];

    /// In words, for a failure's text.
    pub fn name(self) -> &'static str {
        match self {
            Manner::InTurns => "in turns",
            Manner::Whole => "sent whole",
            Manner::ByteByByte => "sent byte by byte",
            Manner::RandomCuts => "sent in random cuts",
            Manner::WithEndBehind => "sent in one segment with the end of the stream behind it",
            Manner::LateReader => "with a late reader",
        }
    }
}

/// Random pieces are at most this long: a long line falls into several, a short one into bytes.
const LONGEST_CUT_BYTES: usize = 1500;

/// How late a late reader is. The longer, the more the server has to keep; nothing depends on it.
const LATE: Duration = Duration::from_millis(30);

/// Plays it once.
///
/// # Errors
/// When anything but what the transcript says comes.
pub fn replay(transcript: &Transcript<'_>, manner: Manner, address: SocketAddr, random: &mut Random) -> Outcome {
    let mut client = Client::connect(address)?;
    let played = play(transcript, manner, &mut client, random);
    played.map_err(|failure| failure.within(manner.name()))
}

fn play(transcript: &Transcript<'_>, manner: Manner, client: &mut Client, random: &mut Random) -> Outcome {
    let sent: Vec<u8> = transcript.client_bytes().collect();
    let expected: Vec<u8> = transcript.server_bytes().collect();
    match manner {
        Manner::InTurns => return in_turns(transcript, client),
        Manner::Whole | Manner::LateReader => client.send(&sent)?,
        Manner::ByteByByte => client.send_pieces(sent.chunks(1))?,
        Manner::RandomCuts => client.send_pieces(random.cuts(&sent, LONGEST_CUT_BYTES))?,
        Manner::WithEndBehind => client.send_with_end(&sent)?,
    }
    if manner != Manner::WithEndBehind && !transcript.server_ends_first() {
        client.half_close()?;
    }
    if manner == Manner::LateReader {
        std::thread::sleep(LATE);
    }
    client.expect(&expected)?;
    client.expect_end()
}

fn in_turns(transcript: &Transcript<'_>, client: &mut Client) -> Outcome {
    for step in transcript.steps() {
        match step {
            Step::Send(bytes) => client.send(&bytes.collect::<Vec<u8>>())?,
            Step::Expect(bytes) => client.expect(&bytes.collect::<Vec<u8>>())?,
            Step::SendEnd => client.half_close()?,
            Step::ExpectEnd => client.expect_end()?,
        }
    }
    Ok(())
}
