//! The core's connection with the numbered echo, driven as an event loop drives it.

use evserver_core::{Action, Buffers, Connection, Limits, NumberedEcho, Time};

use super::{Contestant, receive};

/// A connection of the core.
pub struct InCore {
    connection: Connection<NumberedEcho, Box<Buffers>>,
}

const NOW: Time = Time::from_ms(1000);

impl Default for InCore {
    /// Has sent its greeting already.
    fn default() -> Self {
        let mut connection = Connection::new(NumberedEcho::new(), &Limits::new(), NOW);
        connection.lend(Box::default(), NOW);
        let greeting = connection.transmit().len();
        connection.transmitted(greeting, NOW);
        InCore { connection }
    }
}

impl Contestant for InCore {
    fn answer(&mut self, mut stream: &[u8], piece_bytes: usize, mut send: impl FnMut(&[u8])) {
        let connection = &mut self.connection;
        while !stream.is_empty() && connection.action() == Action::Receive {
            let count = receive(&mut stream, piece_bytes, connection.receive_space());
            connection.received(count, NOW);
            loop {
                let pending = connection.transmit();
                if pending.is_empty() {
                    break;
                }
                send(pending);
                let count = pending.len();
                connection.transmitted(count, NOW);
            }
        }
    }
}
