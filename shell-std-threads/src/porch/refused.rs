//! A client that is told that the server is full.

use std::net::TcpStream;
use std::sync::Arc;

use evserver_core::{Connection, Interest, NumberedEcho, Readiness, Time, Turn};

use crate::common::Common;
use crate::turn::{Conn, act_on_deadlines, turn};

/// What it is told.
const FULL: &[u8] = b"server full\n";

/// A connection without a protocol, of whatever type that would be.
pub struct Refused {
    connection: Conn<NumberedEcho>,
    stream: Arc<TcpStream>,
    interest: Interest,
    /// Nothing was tried yet.
    fresh: bool,
}

impl Refused {
    /// It hears of it in its first turn.
    pub fn new(common: &Common, stream: Arc<TcpStream>) -> Self {
        let connection = Connection::refuse(FULL, &common.limits, common.clock.stamp());
        Self { connection, stream, interest: Interest::None, fresh: true }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub fn interest(&self) -> Interest {
        self.interest
    }

    /// When it is to be seen to without an event.
    pub fn deadline(&self) -> Time {
        if self.fresh { Time::from_ms(0) } else { self.connection.deadlines().earliest() }
    }

    /// Does what can be done. Says whether it stays.
    pub fn see_to(&mut self, common: &Common, mut readiness: Readiness) -> bool {
        self.fresh = false;
        act_on_deadlines(common, &mut self.connection, &self.stream, &mut readiness);
        match turn(common, &mut self.connection, &self.stream, &mut readiness) {
            (Turn::Closed(_), _) => {
                self.left(common);
                false
            }
            // Its share is spent: it goes on when poll says again that there is more.
            (Turn::Again | Turn::Waiting | Turn::Lend, interest) => {
                self.interest = interest;
                true
            }
        }
    }

    /// Ends it now.
    pub fn end(self, common: &Common) {
        self.left(common);
    }

    fn left(&self, common: &Common) {
        let tell = common.ledger().refused_left();
        common.left(tell);
    }
}
