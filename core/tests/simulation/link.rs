//! One connection of the simulated network: two pipes and what both ends know.

use std::collections::VecDeque;

use evserver_core::{CloseReason, Interest, Ticket, Token};

use crate::tally::Tally;

/// Where the server's end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// In a listen queue.
    Queued,
    /// Accepted.
    Open,
    /// Closed, or never accepted.
    Gone,
}

/// What a read of the client's brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    Bytes(Vec<u8>),
    Nothing,
    End,
    Reset,
}

/// The readiness of the server's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    pub readable: bool,
    pub writable: bool,
    pub hangup: bool,
}

impl Ready {
    pub fn any(self) -> bool {
        self.readable || self.writable || self.hangup
    }
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    /// The client, by its number.
    pub agent: usize,
    pub server: Server,
    pub client_open: bool,
    /// From the client to the server.
    pub up: VecDeque<u8>,
    pub up_end: bool,
    /// When the oldest byte of `up` came.
    pub up_since_us: u64,
    /// From the server to the client.
    pub down: VecDeque<u8>,
    pub down_end: bool,
    /// What each pipe holds at most.
    pub pipe_bytes: usize,
    /// The client's end is gone, and the server can know.
    pub reset: bool,
    /// The server's end is gone without an end of stream, and the client can know.
    pub reset_to_client: bool,

    pub watch: Option<(Token, Interest)>,
    /// It was watched once: its token must not be heard of any more.
    pub was_watched: bool,
    /// In the poller's list of those that may be ready.
    pub listed: bool,
    /// Something happened since the last event (edges).
    pub edge: bool,
    /// The last send left something: an edge tells when there is room.
    pub blocked: bool,

    pub tally: Tally,
    /// A protocol was made for it: it is served, not refused.
    pub served: bool,
    /// The server has made a call on it, so it is in the table.
    pub in_table: bool,
    /// Its protocol panicked.
    pub poisoned: bool,
    /// An answer from elsewhere is under way or was not written yet.
    pub waiting: bool,
    /// The answer that is to be taken, and until when.
    pub asked: Option<(Ticket, Option<u64>)>,
    pub received: u64,
    pub sent: u64,
    /// Bytes of pushes that were taken, and their number.
    pub pushed: u64,
    /// Bytes of these whose push has not returned yet: perhaps it is refused.
    pub undecided: u64,
    pub pushes: u64,
    /// When a byte moved last, or the connection or a wait for the client began.
    pub moved_us: u64,
    pub sent_us: u64,
    pub shut_us: Option<u64>,
    /// What the protocol was told in the end.
    pub reason: Option<CloseReason>,
    /// Bytes that are to be received although the server shuts down.
    pub last_turn: u64,
    /// Bytes moved in a turn of the loop, and the turn's number.
    pub turn: (u64, u64),
}

impl Link {
    pub fn new(agent: usize, pipe_bytes: usize, buffer_bytes: usize) -> Self {
        Self {
            agent,
            server: Server::Queued,
            client_open: true,
            up: VecDeque::new(),
            up_end: false,
            up_since_us: 0,
            down: VecDeque::new(),
            down_end: false,
            pipe_bytes,
            reset: false,
            reset_to_client: false,
            watch: None,
            was_watched: false,
            listed: false,
            edge: true,
            blocked: false,
            tally: Tally::new(buffer_bytes),
            served: false,
            in_table: false,
            poisoned: false,
            waiting: false,
            asked: None,
            received: 0,
            sent: 0,
            pushed: 0,
            undecided: 0,
            pushes: 0,
            moved_us: 0,
            sent_us: 0,
            shut_us: None,
            reason: None,
            last_turn: 0,
            turn: (0, 0),
        }
    }

    /// What a poller says of it: epoll(7), tcp(7). It is writable only when a third of its pipe is free, although a
    /// send would take a byte before.
    pub fn ready(&self) -> Ready {
        let free = self.pipe_bytes - self.down.len();
        Ready {
            readable: !self.up.is_empty() || self.up_end || self.reset,
            writable: self.reset || free * 3 >= self.pipe_bytes,
            hangup: self.reset || (self.up_end && self.down_end),
        }
    }

    /// What a poller reports of it by level.
    pub fn level(&self) -> Ready {
        let ready = self.ready();
        let interest = self.watch.map_or(Interest::None, |(_, interest)| interest);
        Ready {
            readable: ready.readable && interest == Interest::Read,
            writable: ready.writable && interest == Interest::Write,
            hangup: ready.hangup,
        }
    }

    /// Whether replies wait in the server's buffers.
    pub fn owes(&self) -> bool {
        self.tally.owed + self.pushed > self.sent + self.undecided
    }

    /// Whether the server holds bytes of it in buffers.
    pub fn needs_buffers(&self) -> bool {
        self.server == Server::Open && (self.owes() || self.tally.line_since_us.is_some())
    }

    /// Room for what the client writes.
    pub fn room_up(&self) -> usize {
        self.pipe_bytes - self.up.len()
    }
}
