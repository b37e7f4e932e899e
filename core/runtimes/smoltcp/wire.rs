//! The core's transport on a socket of smoltcp.

use evserver_core::{Io, Transport};
use smoltcp::socket::tcp::{RecvError, Socket};

/// A socket for as long as its connection has its turn.
pub struct Wire<'a, 's>(pub &'a mut Socket<'s>);

impl Transport for Wire<'_, '_> {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        match self.0.recv_slice(space) {
            Ok(0) => Io::WouldBlock,
            Ok(n) => Io::Moved(n),
            Err(RecvError::Finished) => Io::End,
            Err(RecvError::InvalidState) => Io::Failed,
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        match self.0.send_slice(bytes) {
            Ok(0) => Io::WouldBlock,
            Ok(n) => Io::Moved(n),
            Err(_) => Io::Failed,
        }
    }

    fn shutdown_write(&mut self) {
        self.0.close();
    }
}
