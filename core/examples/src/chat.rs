//! A room in which every line goes to everybody else.
//!
//! Whoever connects is in the room, under a name of its own, until the connection ends. `/quit` leaves.
//!
//! All members see all lines in the same order. The next line of a member is taken when its last one was handed to
//! everybody: so a member that floods waits, and what is under way is bounded.
//!
//! # Slow readers
//!
//! A line is given to a member's connection if there is room for it in its output, which is 4096 bytes behind what the
//! system has taken. A member that reads more slowly than others write misses lines, and is told so in the place where
//! they would have been: `* you missed 3 lines`. Nobody waits for a slow reader, and nothing is lost silently. One that
//! does not read at all is cut by the idle limit.

mod room;

use std::sync::Arc;

use evserver_core::{Next, Protocol, Reply};
use evserver_hosted::{Handle, Peer};

pub use room::{Full, MEMBERS, Room, Seat};

/// The longest line that is passed on, in bytes: with a name before it, it fits an output several times.
pub const LINE_BYTES: usize = 1000;

/// Milliseconds after which a member may speak again although its last line has not reached everybody: a loop that ended
/// before it had done what it was asked.
const PASSED_ON_MS: u32 = 10_000;

/// Room for the longest thing that is said to a member in return.
const ROOM: usize = 80;

/// One member's connection.
#[derive(Debug)]
pub struct Chat {
    room: Arc<Room>,
    handle: Handle<Self>,
    /// Its place, from the greeting on.
    seat: Option<Seat>,
}

impl Chat {
    /// A client that is about to enter.
    pub fn new(room: &Arc<Room>, peer: &Peer<Self>) -> Self {
        Self { room: Arc::clone(room), handle: peer.handle.clone(), seat: None }
    }
}

fn say(text: &str, next: Next, reply: &mut Reply<'_>) -> Next {
    reply.put(text.as_bytes()).map_or(Next::Close, |()| next)
}

/// A line with its sender's name, safe to be shown: a control character could play tricks with a terminal.
fn named(number: u64, line: &[u8]) -> Vec<u8> {
    let mut named = format!("guest-{number}: ").into_bytes();
    let shown = |&byte: &u8| if byte.is_ascii_control() && byte != b'\t' { b'?' } else { byte };
    named.extend(line.iter().map(shown));
    named.push(b'\n');
    named
}

impl Protocol for Chat {
    fn room(&self, _: usize) -> usize {
        ROOM
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        match Room::enter(&self.room, reply.token(), &self.handle) {
            Ok((seat, others)) => {
                let text = format!("* you are guest-{}, others here: {others}\n", seat.number());
                self.seat = Some(seat);
                say(&text, Next::Line, reply)
            }
            Err(Full) => say("* the room is full\n", Next::Close, reply),
        }
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        match line {
            b"" => return Next::Line,
            b"/quit" => return Next::Close,
            _ if line.len() > LINE_BYTES => return self.too_long(reply),
            _ => {}
        }
        let Some(seat) = &self.seat else { return Next::Close };
        let ticket = reply.ticket(PASSED_ON_MS);
        seat.say(&named(seat.number(), line), &self.handle, ticket);
        Next::Later(ticket)
    }

    fn ticket_expired(&mut self, _: &mut Reply<'_>) -> Next {
        Next::Line
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        say("* that line is too long, nobody got it\n", Next::Line, reply)
    }

    fn missed(&mut self, pushes: u32, reply: &mut Reply<'_>) -> Next {
        let lines = if pushes == 1 { "line" } else { "lines" };
        say(&format!("* you missed {pushes} {lines}\n"), Next::Line, reply)
    }
}

#[cfg(test)]
mod tests;
