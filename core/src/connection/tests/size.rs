//! What a connection costs.

use super::*;
use crate::{Accept, Client, Host, Io, Slot, Token, Transport};

/// Bytes that an idle connection may take in the table of a server: 192, less what an allocator rounds up. A server's
/// block of 1024 slots takes whole pages and a header, up to 4 bytes a slot.
const IDLE_BYTES: usize = 192 - 4;

/// A socket as large as a descriptor.
struct Socket(#[expect(dead_code, reason = "only its size counts")] u32);

impl Transport for Socket {
    fn receive(&mut self, _space: &mut [u8]) -> Io {
        Io::WouldBlock
    }
    fn send(&mut self, _bytes: &[u8]) -> Io {
        Io::WouldBlock
    }
    fn shutdown_write(&mut self) {}
}

/// A host of such sockets, for its types alone.
struct Sockets;

impl Host for Sockets {
    type Socket = Socket;
    type Peer = ();
    type Protocol = NumberedEcho;
    type Buffers = Box<Buffers>;

    fn accept(&mut self, _listener: usize) -> Accept<Socket, ()> {
        Accept::WouldBlock
    }
    fn protocol(&mut self, _peer: &()) -> Option<NumberedEcho> {
        None
    }
    fn watch(&mut self, _socket: &Socket, _token: Token, _interest: Interest) -> bool {
        false
    }
    fn rewatch(&mut self, _socket: &Socket, _token: Token, _interest: Interest) -> bool {
        false
    }
    fn unwatch(&mut self, _socket: &Socket, _token: Token) {}
    fn watch_listeners(&mut self, _on: bool) {}
    fn take_buffers(&mut self) -> Option<Box<Buffers>> {
        None
    }
    fn return_buffers(&mut self, _buffers: Box<Buffers>) {}
}

#[test]
fn an_idle_connection_fits_192_bytes_with_its_slot() {
    let slot = size_of::<Slot<Client<Sockets, { crate::BUFFER_BYTES }>>>();
    let connection = size_of::<Connection<NumberedEcho, Box<Buffers>>>();
    std::println!("bytes of an idle connection: {slot} with its slot, {connection} of them the connection");
    assert!(slot <= IDLE_BYTES, "{slot} bytes");
    assert!(connection < slot);
}

#[test]
fn an_idle_connection_holds_no_buffers() {
    let mut talk = talk::echo::<4096>();
    assert!(talk.connection.reclaim().is_some());
    talk.assert_waits(Interest::Read, Action::Lend, Waiting::ForInput);
    assert!(!talk.connection.has_buffers());
}

#[test]
fn a_host_that_has_only_what_it_must_counts_for_itself_and_catches_no_panic() {
    let mut host = Sockets;
    assert!(host.enter(None, u64::MAX) && host.enter(Some(3), 2) && !host.enter(Some(3), 3));
    assert_eq!((host.share(64), host.listens(), host.guard(|| 7)), (64, true, Some(7)));
}
