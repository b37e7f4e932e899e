//! What the core asks of a readiness shell, answered with the shell's system calls.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evserver_core::{Accept, Buffers, Complaint, Host, Interest, Protocol, Token};

use super::Backend;
use super::shared::Shared;
use crate::handle::{Handle, Peer};
use crate::listen::Listening;
use crate::pool::Pool;
use crate::say;
use crate::source::Source;

/// A backend with its listeners, buffers and the maker of protocols.
pub struct LoopHost<'a, B, P, F> {
    pub backend: B,
    listeners: Vec<Listening>,
    watching_listeners: bool,
    pool: Pool,
    shared: &'a Shared,
    handle: Handle<P>,
    make: &'a F,
}

impl<'a, B: Backend, P, F> LoopHost<'a, B, P, F> {
    /// Begins to watch the listeners.
    pub fn new(
        backend: B,
        listeners: Vec<Listening>,
        shared: &'a Shared,
        handle: Handle<P>,
        make: &'a F,
    ) -> io::Result<Self> {
        let mut host =
            Self { backend, listeners, watching_listeners: false, pool: Pool::new(), shared, handle, make };
        host.set_watch(true)?;
        Ok(host)
    }

    /// How many listeners there are.
    pub fn listeners(&self) -> usize {
        self.listeners.len()
    }

    /// Closes the listeners: who connects from now on is refused by the kernel.
    pub fn close_listeners(&mut self) {
        let _ = self.set_watch(false);
        self.listeners.clear();
    }

    fn set_watch(&mut self, on: bool) -> io::Result<()> {
        if on == self.watching_listeners {
            return Ok(());
        }
        for (number, listening) in self.listeners.iter().enumerate() {
            let (fd, source) = (listening.listener.as_fd(), Source::Listener(number));
            if !on {
                self.backend.unwatch_input(fd, source);
            } else if let Err(error) = self.backend.watch_input(fd, source) {
                // All or none: what is watched already would be refused at the next try.
                for (number, listening) in self.listeners.iter().enumerate().take(number) {
                    self.backend.unwatch_input(listening.listener.as_fd(), Source::Listener(number));
                }
                return Err(error);
            }
        }
        self.watching_listeners = on;
        Ok(())
    }
}

impl<B: Backend, P: Protocol, F: Fn(&Peer<P>) -> P> Host for LoopHost<'_, B, P, F> {
    type Socket = B::Socket;
    type Peer = SocketAddr;
    type Protocol = P;
    type Buffers = Box<Buffers>;

    fn accept(&mut self, listener: usize) -> Accept<B::Socket, SocketAddr> {
        match self.listeners.get(listener) {
            Some(listening) => self.backend.accept(listening.listener.as_fd()),
            None => Accept::WouldBlock,
        }
    }

    fn protocol(&mut self, &address: &SocketAddr) -> Option<P> {
        let peer = Peer { address, handle: self.handle.clone() };
        catch_unwind(AssertUnwindSafe(|| (self.make)(&peer))).ok()
    }

    fn enter(&mut self, limit: Option<u32>, _: u64) -> bool {
        self.shared.enter(limit)
    }

    fn leave(&mut self) {
        self.shared.leave();
    }

    fn share(&self, n: u32) -> u32 {
        n.div_ceil(self.shared.loops())
    }

    fn watch(&mut self, socket: &B::Socket, token: Token, interest: Interest) -> bool {
        self.backend.watch(socket, Source::Client(token), interest).is_ok()
    }

    fn rewatch(&mut self, socket: &B::Socket, token: Token, interest: Interest) -> bool {
        self.backend.rewatch(socket, Source::Client(token), interest).is_ok()
    }

    fn unwatch(&mut self, socket: &B::Socket, token: Token) {
        self.backend.unwatch(socket, Source::Client(token));
    }

    fn watch_listeners(&mut self, on: bool) {
        // `listens` says when it failed.
        let _ = self.set_watch(on);
    }

    fn listens(&self) -> bool {
        self.watching_listeners
    }

    #[inline]
    fn take_buffers(&mut self) -> Option<Box<Buffers>> {
        Some(self.pool.take())
    }

    #[inline]
    fn return_buffers(&mut self, buffers: Box<Buffers>) {
        self.pool.put(buffers);
    }

    #[inline]
    fn guard<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        // The connection is dropped after a panic, so nobody sees what state it was left in.
        catch_unwind(AssertUnwindSafe(work)).ok()
    }

    fn complain(&mut self, complaint: Complaint) {
        say::warn(match complaint {
            Complaint::AcceptExhausted => "out of descriptors or memory; clients wait until a connection closes",
            Complaint::ProtocolPanicked => "a protocol panicked; its connection was closed",
        });
    }
}
