//! What a line protocol has to say.

use crate::reason::CloseReason;
use crate::reply::Reply;
use crate::token::Ticket;

/// A line protocol: what to answer to a line, and what comes after it.
///
/// One value serves one connection. Calls come one at a time and in the order of the bytes; each may write to
/// its [`Reply`] and says by its [`Next`] what the following bytes are.
///
/// # When each call is made
///
/// | call | made | output before it |
/// |---|---|---|
/// | `open` | once, before anything is received | empty |
/// | `line` | for each line | `room(line.len())` bytes free, or empty if that is more than the buffer |
/// | `body` | for each part of a counted body, as it arrives | `room(part.len())` bytes free, or empty |
/// | `too_long` | once for a line that does not fit the input buffer | empty |
/// | `bare_newline` | once for a line with an LF that lacks its CR, where CR LF is strict | empty |
/// | `completed` | after [`Connection::complete`](crate::Connection::complete) | empty |
/// | `ticket_expired` | when a ticket timed out | empty |
/// | `timer` | when the timer that the protocol set is due | empty |
/// | `missed` | when a push was refused and there is room again | empty |
/// | `end` | once, when the peer has ended its stream and every line was answered | empty |
/// | `closed` | once, last of all | none |
///
/// # What each call may return
///
/// | returned | by | what follows |
/// |---|---|---|
/// | [`Next::Line`] | all | a line; after `too_long` and `bare_newline` first the rest of that line is dropped; after `timer` and `missed` whatever would have followed without it; after `end` the close |
/// | [`Next::Body`], [`Next::Skip`] | all but `timer`, `missed` and `end` | so many bytes, then as the call with the last part says, or a line |
/// | [`Next::More`] | all | the same call with the same bytes, when the output is empty |
/// | [`Next::Later`] | all but `timer` and `missed` | nothing is taken until the answer is there: `completed` or `ticket_expired` |
/// | [`Next::Close`] | all | the replies leave, then the connection is closed as rule 5 says |
///
/// A return value that the table does not allow is a mistake of the protocol's author: `Body`, `Skip` or `Later`
/// from `timer` or `missed` count as `Line`, `Body` and `Skip` from `end` as `Close`. `Later` with a ticket that this very
/// call did not make, `More` that wrote nothing although the output was empty, and `Body(0)` from `body` when
/// nothing was left would wait or turn for ever: they close the connection with
/// [`CloseReason::NoProgress`].
pub trait Protocol {
    /// Where a line ends.
    const LINE_END: LineEnd = LineEnd::Newline;

    /// The output, in bytes, that must be free before a line of `len` bytes (or a part of a body) is handed over.
    ///
    /// An upper bound of the reply's length. More than the buffer means that the buffer must be empty; such a
    /// reply is given in pieces with [`Reply::put_some`] and [`Next::More`].
    fn room(&self, len: usize) -> usize;

    /// The connection is there: greet, or say nothing.
    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        let _ = reply;
        Next::Line
    }

    /// A line, without its end. Any bytes but the one that ends lines.
    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next;

    /// A part of the body that [`Next::Body`] announced; `left` bytes of it are still to come.
    ///
    /// To take the rest return `Body(left)`, to drop it `Skip(left)`. `Body(0)` gives one call with no bytes.
    fn body(&mut self, part: &[u8], left: u64, reply: &mut Reply<'_>) -> Next {
        let _ = (part, reply);
        if left == 0 { Next::Line } else { Next::Skip(left) }
    }

    /// A line is longer than the input buffer. Told once, as soon as the buffer is full without a line's end.
    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        let _ = reply;
        Next::Close
    }

    /// An LF without a CR before it, where [`LineEnd::CrLf`] is strict: two ends of a connection could read the
    /// bytes around it differently. Going on with `Next::Line` drops everything up to the next CR LF.
    fn bare_newline(&mut self, reply: &mut Reply<'_>) -> Next {
        let _ = reply;
        Next::Close
    }

    /// The answer that a ticket stood for was handed to the protocol.
    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        let _ = reply;
        Next::Line
    }

    /// The answer that a ticket stood for did not come in time.
    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        let _ = reply;
        Next::Close
    }

    /// The timer set by [`Reply::set_timer`] is due.
    fn timer(&mut self, reply: &mut Reply<'_>) -> Next {
        let _ = reply;
        Next::Line
    }

    /// So many pushes were refused, for lack of room or because the first of them was, and now there is room again: the
    /// moment to say that something was missed, or to say it after all. When it is repeated after [`Next::More`], the
    /// number has grown by those that were refused meanwhile.
    fn missed(&mut self, pushes: u32, reply: &mut Reply<'_>) -> Next {
        let _ = (pushes, reply);
        Next::Line
    }

    /// The peer has ended its stream behind `tail`, bytes without a line's end. By default they are no line.
    fn end(&mut self, tail: &[u8], reply: &mut Reply<'_>) -> Next {
        let _ = (tail, reply);
        Next::Close
    }

    /// The connection is over and why.
    fn closed(&mut self, reason: CloseReason) {
        let _ = reason;
    }
}

/// What follows a call of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// A line.
    Line,
    /// So many bytes that are handed over as they arrive; memory never follows the number.
    Body(u64),
    /// So many bytes that are dropped as they arrive.
    Skip(u64),
    /// The reply is not complete: the same call again, with the same bytes, when the output is empty.
    More,
    /// The answer comes from elsewhere; nothing is taken from this connection until then.
    Later(Ticket),
    /// The end: what was written leaves, then the connection is closed.
    Close,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// LF; one CR right before it is not part of the line, any other CR is.
    Newline,
    /// CR LF and nothing else. An LF without its CR poisons the line: see [`Protocol::bare_newline`].
    CrLf,
    /// This byte.
    Byte(u8),
}

impl LineEnd {
    /// The last byte of the line's end, the one to search for.
    pub(crate) const fn last_byte(self) -> u8 {
        match self {
            Self::Newline | Self::CrLf => b'\n',
            Self::Byte(byte) => byte,
        }
    }
}
