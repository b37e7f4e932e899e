//! A client's socket as the core sees it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use evserver_core::{Io, Time, Transport};
use evserver_hosted::moved;

use crate::clock::Clock;

/// A non-blocking socket that is shared with whoever holds the connection.
pub struct Socket<'a> {
    pub stream: &'a TcpStream,
    pub clock: Clock,
}

impl Transport for Socket<'_> {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        match self.stream.read(space) {
            Ok(0) => Io::End,
            received => moved(received),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        moved(self.stream.write(bytes))
    }

    fn shutdown_write(&mut self) {
        // "Not connected" means that the peer has reset it, which the next receive tells.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// A thread may have been kept off the processor for long within a turn, so each transfer has its own time.
    fn now(&self, _turn: Time) -> Time {
        self.clock.stamp()
    }
}
