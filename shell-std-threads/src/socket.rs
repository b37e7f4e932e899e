//! A client's socket as the core sees it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use evserver_core::{Io, Time, Transport};

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
            Ok(count) => Io::Moved(count),
            Err(error) => transfer_error(&error),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        match self.stream.write(bytes) {
            Ok(count) => Io::Moved(count),
            Err(error) => transfer_error(&error),
        }
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

fn transfer_error(error: &io::Error) -> Io {
    match error.kind() {
        ErrorKind::WouldBlock => Io::WouldBlock,
        ErrorKind::Interrupted => Io::Interrupted,
        // A shortage of memory (ENOMEM, ENOBUFS) too: TCP itself waits for it as it waits for room, and then poll tells. Of
        // any other poll knows nothing and would end each wait at once.
        _ => Io::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_is_tried_again() {
        assert_eq!(transfer_error(&ErrorKind::WouldBlock.into()), Io::WouldBlock);
        assert_eq!(transfer_error(&ErrorKind::Interrupted.into()), Io::Interrupted);
        for kind in [
            ErrorKind::ConnectionReset,
            ErrorKind::BrokenPipe,
            ErrorKind::TimedOut,
            ErrorKind::NotConnected,
            ErrorKind::OutOfMemory,
        ] {
            assert_eq!(transfer_error(&kind.into()), Io::Failed);
        }
    }
}
