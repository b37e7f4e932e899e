//! The other end of the wire: sends a conversation cut in one way, and compares what it gets.

use core::fmt;

use evserver_core::{BUFFER_BYTES, CloseReason, Interest, Io, Time, Transport};

use crate::conversation::{Bytes, Conversation, length};
use crate::talk::{Event, Wire};

/// How the bytes are cut.
#[derive(Clone, Copy)]
pub struct Way {
    /// The first piece that arrives has so many bytes,
    first: usize,
    /// further ones so many.
    others: usize,
    /// So many bytes at most leave at a time.
    write: usize,
    /// The end of the stream comes behind the last bytes also when the server ends first.
    end_behind: bool,
}

const WHOLE: Way = Way { first: usize::MAX, others: usize::MAX, write: usize::MAX, end_behind: false };

impl Way {
    /// Whole; with the end behind; byte by byte; cut in two at every place; with writes of every size.
    pub fn all(conversation: &Conversation) -> impl Iterator<Item = Way> + use<> {
        let bytes = Way { first: 1, others: 1, ..WHOLE };
        let splits = (1..length(conversation.sent)).map(|first| Way { first, ..WHOLE });
        let writes = (1..length(conversation.expected).min(BUFFER_BYTES)).map(|write| Way { write, ..WHOLE });
        let others = [WHOLE, Way { end_behind: true, ..WHOLE }, bytes, Way { write: 1, ..bytes }];
        others.into_iter().chain(splits).chain(writes)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Way { first, others, write, end_behind } = self;
        write!(f, "a piece of {first} bytes, others of {others}, writes of {write}, the end behind: {end_behind}")
    }
}

/// What is not as it should be.
#[derive(Clone, Copy)]
pub enum Difference {
    /// This byte of the output, counted from 0, is another or too many.
    Byte(usize),
    /// The connection ended for this reason when so many bytes of the output had come.
    Short(usize, CloseReason),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Byte(at) => write!(f, "byte {at} of the output is another, or too many"),
            Difference::Short(at, reason) => write!(f, "it ended ({reason:?}) after {at} bytes of the output"),
        }
    }
}

/// A peer, and the wire to it.
pub struct Peer {
    sends: Bytes,
    expects: Bytes,
    way: Way,
    /// What is left of the piece that has arrived.
    piece: usize,
    ends_first: bool,
    server_ended: bool,
    sent: usize,
    got: usize,
    different: bool,
}

impl Peer {
    pub fn new(conversation: &Conversation, way: Way) -> Peer {
        Peer {
            sends: Bytes::of(conversation.sent),
            expects: Bytes::of(conversation.expected),
            way,
            piece: way.first,
            ends_first: way.end_behind || !conversation.server_ends_first,
            server_ended: false,
            sent: 0,
            got: 0,
            different: false,
        }
    }

    /// Bytes that moved, both ways.
    pub fn moved(&self) -> usize {
        self.sent + self.got
    }

    /// Whether everything came that was to come, and nothing else, once the connection is over.
    pub fn verdict(&self, reason: CloseReason) -> Result<(), Difference> {
        if self.different {
            Err(Difference::Byte(self.got))
        } else if !self.expects.is_empty() || reason.is_timeout() {
            Err(Difference::Short(self.got, reason))
        } else {
            Ok(())
        }
    }
}

impl Transport for Peer {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        let most = self.piece.min(space.len());
        let n = space.get_mut(..most).map_or(0, |space| self.sends.copy_to(space));
        self.piece -= n;
        self.sent += n;
        if n > 0 {
            Io::Moved(n)
        } else if self.sends.is_empty() && (self.ends_first || self.server_ended) {
            Io::End
        } else {
            Io::WouldBlock
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        let bytes = bytes.get(..self.way.write).unwrap_or(bytes);
        let equal = self.expects.skip_equal(bytes);
        self.got += equal;
        self.different |= equal < bytes.len();
        if self.different { Io::Failed } else { Io::Moved(equal) }
    }

    fn shutdown_write(&mut self) {
        self.server_ended = true;
    }
}

impl Wire for Peer {
    /// A replay takes no time: the next piece arrives whenever it is waited for. If none does the peer has got less than
    /// it expects, and waits for ever.
    fn wait(&mut self, _: Interest, deadline: Option<Time>) -> Event {
        self.piece = self.way.others;
        if self.sends.is_empty() && !(self.ends_first || self.server_ended) {
            Event::Deadline(deadline.unwrap_or(Time::NEVER))
        } else {
            Event::Ready(Time::from_ms(0))
        }
    }
}
