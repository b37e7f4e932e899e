//! The simulated system under the server.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use evserver_core::{Accept, Buffers, Complaint, Host, Interest, Io, Slot, Storage, Token, Transport};

use crate::protocol::{Echo, OnPurpose};
use crate::scenario::{Fault, Scenario};
use crate::world::Shared;

/// The server's end of a link.
pub struct Socket {
    world: Shared,
    link: usize,
}

impl Transport for Socket {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        let io = self.world.borrow_mut().receive(self.link, space);
        self.world.borrow().trace(|| format!("receive {} into {}: {io:?}", self.link, space.len()));
        io
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        let io = self.world.borrow_mut().send(self.link, bytes);
        self.world.borrow().trace(|| format!("send {} of {}: {io:?}", self.link, bytes.len()));
        io
    }

    fn shutdown_write(&mut self) {
        self.world.borrow().trace(|| format!("shutdown {}", self.link));
        self.world.borrow_mut().shutdown_write(self.link);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Behind a failed check nothing more is checked.
        if !std::thread::panicking() {
            self.world.borrow().trace(|| format!("close {}", self.link));
            self.world.borrow_mut().close(self.link);
        }
    }
}

/// Answers the server from the world.
pub struct SimHost<const N: usize> {
    world: Shared,
    pairs: Vec<Box<Buffers<N>>>,
    /// Pairs that may still be made.
    unmade: usize,
    /// Pairs that are lent.
    pub lent: usize,
    /// Clients that were counted in and have not left.
    pub entered: u64,
}

impl<const N: usize> SimHost<N> {
    pub fn new(world: Shared, scenario: &Scenario) -> Self {
        Self { world, pairs: Vec::new(), unmade: scenario.pairs.unwrap_or(usize::MAX), lent: 0, entered: 0 }
    }
}

impl<const N: usize> Host<N> for SimHost<N> {
    type Socket = Socket;
    type Peer = usize;
    type Protocol = Echo;
    type Buffers = Box<Buffers<N>>;

    fn accept(&mut self, listener: usize) -> Accept<Socket, usize> {
        let accepted = self.world.borrow_mut().accept(listener);
        match accepted {
            Accept::Client(link, _) => Accept::Client(Socket { world: self.world.clone(), link }, link),
            Accept::WouldBlock => Accept::WouldBlock,
            Accept::Interrupted => Accept::Interrupted,
            Accept::Dropped => Accept::Dropped,
            Accept::Exhausted => Accept::Exhausted,
        }
    }

    fn protocol(&mut self, &link: &usize) -> Option<Echo> {
        let mut world = self.world.borrow_mut();
        if world.has(Fault::Panics) && world.random.one_in(50) {
            return None;
        }
        world.links[link].served = true;
        Some(Echo::new(self.world.clone(), link))
    }

    fn enter(&mut self, limit: Option<u32>, open: u64) -> bool {
        let enters = limit.is_none_or(|limit| open < u64::from(limit));
        self.entered += u64::from(enters);
        enters
    }

    fn leave(&mut self) {
        self.entered -= 1;
    }

    fn watch(&mut self, socket: &Socket, token: Token, interest: Interest) -> bool {
        self.world.borrow_mut().watch(socket.link, token, interest)
    }

    fn rewatch(&mut self, socket: &Socket, token: Token, interest: Interest) -> bool {
        self.world.borrow_mut().rewatch(socket.link, token, interest)
    }

    fn unwatch(&mut self, socket: &Socket, token: Token) {
        self.world.borrow_mut().unwatch(socket.link, token);
    }

    fn watch_listeners(&mut self, on: bool) {
        let mut world = self.world.borrow_mut();
        world.trace(|| format!("listen {on}"));
        world.progress += u64::from(world.listening != on);
        world.listening = on;
    }

    fn take_buffers(&mut self) -> Option<Box<Buffers<N>>> {
        let pair = self.pairs.pop().or_else(|| {
            self.unmade = self.unmade.checked_sub(1)?;
            Some(Box::default())
        });
        self.world.borrow().trace(|| format!("take buffers: {}, {} lent", pair.is_some(), self.lent));
        if pair.is_none() {
            self.world.borrow_mut().note("no buffers");
        }
        let pair = pair?;
        self.lent += 1;
        Some(pair)
    }

    fn return_buffers(&mut self, buffers: Box<Buffers<N>>) {
        assert!(buffers.is_empty(), "buffers come back with something in them");
        self.lent -= 1;
        self.pairs.push(buffers);
    }

    fn guard<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(done) => Some(done),
            Err(panic) if panic.is::<OnPurpose>() => None,
            Err(panic) => resume_unwind(panic),
        }
    }

    fn complain(&mut self, complaint: Complaint) {
        let mut world = self.world.borrow_mut();
        // By the clock as the turn read it: how long it has taken since does not count.
        let read_us = world.read_us;
        if let Some(last_us) = world.complained_us[complaint as usize].replace(read_us) {
            assert!(read_us - last_us >= 59_999_000, "two of {complaint:?} within {} µs", read_us - last_us);
        }
    }
}

/// A table that grows up to a size.
pub struct Table<E> {
    world: Shared,
    slots: Vec<Slot<E>>,
    most: u32,
}

impl<E> Table<E> {
    pub fn new(world: Shared, most: Option<u32>) -> Self {
        Self { world, slots: Vec::new(), most: most.unwrap_or(u32::MAX) }
    }
}

impl<E> Storage<E> for Table<E> {
    fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    fn slot(&self, index: u32) -> Option<&Slot<E>> {
        self.slots.get(index as usize)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<E>> {
        self.slots.get_mut(index as usize)
    }

    fn grow(&mut self) -> bool {
        let may = self.capacity() < self.most;
        if may {
            self.slots.push(Slot::new());
        } else {
            self.world.borrow_mut().note("table full");
        }
        may
    }
}
