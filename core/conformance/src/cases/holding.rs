//! Clients that do not read, and how to tell that a server holds their replies back.

use std::time::{Duration, Instant};

use crate::case::{NotPassed, Outcome};
use crate::client::{Client, DEADLINE, GREETING};
use crate::model::answer;
use crate::queues::Ends;

/// A receive buffer as small as systems allow, so that a server soon cannot send.
pub(super) const SMALL_BUFFER_BYTES: usize = 4096;

/// The flooding cases stop here: more than any kernel holds for one connection.
pub(super) const FLOOD_LIMIT_BYTES: usize = 64 << 20;

/// A server that has taken nothing for so long does not take anything.
pub(super) const TAKES_NOTHING: Duration = Duration::from_secs(1);

/// Sends segments until replies are held back by the server itself. Where the kernel does not show its queues a fixed number of
/// segments has to do.
pub(super) fn hold_back(client: &mut Client, segment: &[u8], input: &mut Vec<u8>) -> Outcome {
    const BLIND_SEGMENTS: usize = 40;
    let lines = segment.iter().filter(|&&byte| byte == b'\n').count();
    let mut owed = Owed::new();
    while input.len() < FLOOD_LIMIT_BYTES {
        match owed.held_back_bytes(client) {
            Ok(0) => {}
            Err(NotPassed::Skipped { .. }) if input.len() < BLIND_SEGMENTS * segment.len() => {}
            Ok(_) | Err(NotPassed::Skipped { .. }) => return Ok(()),
            Err(failure) => return Err(failure),
        }
        client.send(segment)?;
        input.extend_from_slice(segment);
        owed.add(lines, segment.len() - lines);
    }
    Err(client.failed("the server keeps on taking lines from a client that reads nothing"))
}

/// How many bytes of replies to `input` the server has not handed to the kernel, once nothing moves any more.
pub(super) fn held_back_bytes(client: &Client, input: &[u8]) -> Result<usize, NotPassed> {
    Owed { bytes: answer(input).bytes.len(), lines: 0 }.held_back_bytes(client)
}

/// How many bytes of replies a server owes, counted as the lines are sent.
struct Owed {
    bytes: usize,
    lines: usize,
}

impl Owed {
    fn new() -> Owed {
        Owed { bytes: GREETING.len(), lines: 0 }
    }

    /// So many lines, with so many bytes of text in all of them.
    fn add(&mut self, lines: usize, text_bytes: usize) {
        let numbers = self.lines + 1..=self.lines + lines;
        let digits: usize = numbers.map(|number| number.ilog10() as usize + 1).sum();
        self.bytes += digits + lines * ": \n".len() + text_bytes;
        self.lines += lines;
    }

    /// How many of them the server has not handed to the kernel, once nothing moves any more.
    fn held_back_bytes(&self, client: &Client) -> Result<usize, NotPassed> {
        let owed = self.bytes - client.came_bytes();
        let deadline = Instant::now() + DEADLINE;
        loop {
            // The fast way: all is out, so nothing is held back.
            if Ends::of(client)?.replies_under_way() == owed {
                return Ok(0);
            }
            let ends = Ends::still(client)?;
            let held = owed.saturating_sub(ends.replies_under_way());
            // A busy machine can be still for a moment: a server that could send has not got round to it yet.
            if ends.server.send_bytes > 0 || Instant::now() > deadline {
                return Ok(held);
            }
        }
    }
}
