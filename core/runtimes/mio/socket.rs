//! The core's transport on a stream of mio.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::Shutdown;

use evserver_core::{Io, Transport};
use evserver_hosted::moved;
use mio::net::TcpStream;

/// A connected stream. mio wants it mutable to register it, where the core's host has it shared.
pub struct Socket(pub RefCell<TcpStream>);

impl Transport for Socket {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        match self.0.get_mut().read(space) {
            Ok(0) => Io::End,
            received => moved(received),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        moved(self.0.get_mut().write(bytes))
    }

    fn shutdown_write(&mut self) {
        let _ = self.0.get_mut().shutdown(Shutdown::Write);
    }
}
