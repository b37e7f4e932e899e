//! A client that is told that the server is full.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use evserver_core::{Connection, Interest, NumberedEcho, Readiness, Time, Turn};
use rustix::event::PollFlags;

use crate::common::Common;
use crate::ready;
use crate::turn::{Conn, turn};

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

    /// Until it is given up.
    pub fn time_left(&self, common: &Common) -> Option<Duration> {
        if self.fresh { Some(Duration::ZERO) } else { self.deadline().map(|deadline| common.clock.until(deadline)) }
    }

    fn deadline(&self) -> Option<Time> {
        self.connection.deadline()
    }

    /// Does what can be done. Says whether it stays.
    pub fn see_to(&mut self, common: &Common, said: PollFlags) -> bool {
        let now = common.clock.now();
        let due = self.deadline().is_some_and(|deadline| deadline <= now);
        if !(self.fresh || due || !said.is_empty()) {
            return true;
        }
        self.fresh = false;
        let mut readiness = ready::readiness(said);
        if due {
            readiness = Readiness { hangup: readiness.hangup, ..Readiness::ATTEMPT };
            turn(common, &mut self.connection, &self.stream, &mut readiness);
            self.connection.handle_timeout(now);
        }
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
