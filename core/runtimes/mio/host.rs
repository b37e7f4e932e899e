//! What the core leaves to its driver, all of it: each function here is one thing that only the system can do.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evserver_core::{Accept, Buffers, Complaint, Host, Interest, NumberedEcho, Token};
use evserver_hosted::{Listening, Pool, Source, say};
use evserver_runtimes::accepted;
use mio::net::TcpListener;
use mio::{Registry, Token as Name};

use crate::socket::Socket;

/// The system under the server.
pub struct MioHost {
    registry: Registry,
    listeners: Vec<Listener>,
    /// Whether listeners are to be listened to.
    accepting: bool,
    pool: Pool,
}

struct Listener {
    socket: TcpListener,
    /// A client may wait. mio reports changes (edges) of listeners too, where the core expects states: who still waits when
    /// the share of a turn is spent is an event of the next one. So what was reported is kept until nobody waits.
    ready: bool,
}

impl MioHost {
    /// Begins to watch the listeners.
    pub fn new(registry: Registry, listeners: Vec<Listening>) -> io::Result<MioHost> {
        let watched = |(number, listening): (usize, Listening)| {
            let mut socket = TcpListener::from_std(listening.listener);
            registry.register(&mut socket, name(Source::Listener(number)), mio::Interest::READABLE)?;
            Ok(Listener { socket, ready: true })
        };
        let listeners = listeners.into_iter().enumerate().map(watched).collect::<io::Result<_>>()?;
        Ok(MioHost { registry, listeners, accepting: true, pool: Pool::new() })
    }

    /// How many listeners there are.
    pub fn listeners(&self) -> usize {
        self.listeners.len()
    }

    /// A listener has something new.
    pub fn listener_is_ready(&mut self, number: usize) {
        if let Some(listener) = self.listeners.get_mut(number) {
            listener.ready = true;
        }
    }

    /// Whether accepting may bring somebody.
    pub fn may_accept(&self, number: usize) -> bool {
        self.accepting && self.listeners.get(number).is_some_and(|listener| listener.ready)
    }

    /// Closes the listeners: who connects from now on is refused by the kernel.
    pub fn close_listeners(&mut self) {
        for mut listener in self.listeners.drain(..) {
            let _ = self.registry.deregister(&mut listener.socket);
        }
    }
}

/// What mio calls an event by. The core's tokens are 64 bits.
pub fn name(source: Source) -> Name {
    const { assert!(usize::BITS == 64, "mio's tokens are too small for the core's on this machine: keep a table") };
    Name(source.to_bits() as usize)
}

impl Host for MioHost {
    type Socket = Socket;
    type Peer = SocketAddr;
    type Protocol = NumberedEcho;
    type Buffers = Box<Buffers>;

    fn accept(&mut self, listener: usize) -> Accept<Socket, SocketAddr> {
        let Some(listener) = self.listeners.get_mut(listener) else { return Accept::WouldBlock };
        let accepted =
            accepted(listener.socket.accept().map(|(stream, peer)| (Socket(RefCell::new(stream)), peer)));
        listener.ready = !matches!(accepted, Accept::WouldBlock);
        accepted
    }

    fn protocol(&mut self, _: &SocketAddr) -> Option<NumberedEcho> {
        Some(NumberedEcho::new())
    }

    fn watch(&mut self, socket: &Socket, token: Token, _: Interest) -> bool {
        let both = mio::Interest::READABLE | mio::Interest::WRITABLE;
        self.registry.register(&mut *socket.0.borrow_mut(), name(Source::Client(token)), both).is_ok()
    }

    /// Both directions are watched from the start.
    fn rewatch(&mut self, _: &Socket, _: Token, _: Interest) -> bool {
        true
    }

    fn unwatch(&mut self, socket: &Socket, _: Token) {
        let _ = self.registry.deregister(&mut *socket.0.borrow_mut());
    }

    /// mio goes on to report; what it reports is kept until it is wanted.
    fn watch_listeners(&mut self, on: bool) {
        self.accepting = on;
    }

    fn take_buffers(&mut self) -> Option<Box<Buffers>> {
        Some(self.pool.take())
    }

    fn return_buffers(&mut self, buffers: Box<Buffers>) {
        self.pool.put(buffers);
    }

    fn guard<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        catch_unwind(AssertUnwindSafe(work)).ok()
    }

    fn complain(&mut self, complaint: Complaint) {
        say::warn(match complaint {
            Complaint::AcceptExhausted => "out of descriptors or memory; clients wait",
            Complaint::ProtocolPanicked => "a protocol panicked; its connection was closed",
        });
    }
}
