//! One connection as several threads see it: its own, which waits for its socket, and those that bring it something.

use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evserver_core::{Interest, Protocol, Readiness, Ticket, Token, Turn};

use crate::common::Common;
use crate::turn::{Conn, guarded, lend, turn};

/// A connection, its socket, and where its thread waits when it does not wait for the socket.
///
/// The lock is held while the protocol is called and while bytes move, which never blocks, and never while a thread
/// waits. Whoever holds it locks nothing but leaves: a ledger, a pool, a queue, for a few instructions. No thread
/// ever holds two connections: what a protocol has for another connection goes through the queue of its
/// [`Handle`](evserver_hosted::Handle). So no two threads can wait for each other.
pub struct Entry<P> {
    /// Its name.
    pub token: Token,
    /// Shared, never duplicated: a descriptor is closed when the last of those that poll it lets go of it, and so no
    /// other connection can have its number while one of them still does (rule 11).
    pub stream: Arc<TcpStream>,
    seat: Mutex<Seat<P>>,
    /// What its thread waits for while an answer comes from elsewhere.
    answered: Condvar,
}

/// What is behind the lock.
pub struct Seat<P> {
    /// `None` once it is over.
    pub connection: Option<Conn<P>>,
    /// Its thread waits for an answer, not for the socket.
    parked: bool,
    /// Its thread waits until the socket takes output.
    pub sends: bool,
    /// The porch waits until the socket takes output.
    on_porch: bool,
}

/// Whether someone must see to output that its thread does not know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Left {
    /// Nothing is left, or its thread sees to it.
    Nothing,
    /// Output that the socket did not take.
    Output,
}

impl<P: Protocol> Entry<P> {
    /// A connection that was just made.
    pub fn new(token: Token, stream: Arc<TcpStream>, mut connection: Conn<P>) -> Self {
        connection.set_token(token);
        let seat = Seat { connection: Some(connection), parked: false, sends: false, on_porch: false };
        Self { token, stream, seat: Mutex::new(seat), answered: Condvar::new() }
    }

    /// Takes the connection in hand.
    pub fn lock(&self) -> MutexGuard<'_, Seat<P>> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an answer from elsewhere, or for the time to be over; the lock is free meanwhile.
    pub fn park(&self, mut seat: MutexGuard<'_, Seat<P>>, timeout: Option<Duration>) {
        seat.parked = true;
        let mut seat = match timeout {
            None => self.answered.wait(seat).unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => self.answered.wait_timeout(seat, timeout).unwrap_or_else(PoisonError::into_inner).0,
        };
        seat.parked = false;
    }

    /// Wakes its thread if it waits for an answer. Someone who computes with the lock held is not waited for: that
    /// thread is awake.
    pub fn rouse(&self) {
        if let Ok(seat) = self.seat.try_lock()
            && seat.parked
        {
            self.answered.notify_one();
        }
    }

    /// Sends bytes between two replies; `false` when they were refused.
    pub fn push(&self, common: &Common, bytes: &[u8]) -> (bool, Left) {
        let (pushed, left) = self.bring(common, |common, connection| {
            lend(common, connection);
            guarded(common, connection, |connection| connection.push(bytes, common.clock.stamp()).is_ok())
        });
        (pushed.flatten().unwrap_or(false), left)
    }

    /// Hands over the answer that a ticket stands for; late, it is dropped.
    pub fn complete(&self, common: &Common, ticket: Ticket, answer: Box<dyn FnOnce(&mut P) + Send>) -> Left {
        self.bring(common, |common, connection| {
            guarded(common, connection, |connection| {
                // Late: whom it was for has been told that it timed out.
                let _ = connection.complete(ticket, common.clock.stamp(), answer);
            })
        })
        .1
    }

    /// Does something with the connection from another thread than its own, and sends what comes of it.
    ///
    /// Its own thread need not be woken where it waits for the socket: a deadline that moved has moved away, and a
    /// wait until the socket takes output ends by itself when this one could send. Three things it must learn: an
    /// answer came (it is parked), the connection is over (its socket is shut), and output is left that it does
    /// not wait for (the porch does).
    fn bring<R>(&self, common: &Common, work: impl FnOnce(&Common, &mut Conn<P>) -> R) -> (Option<R>, Left) {
        let mut seat = self.lock();
        let seat = &mut *seat;
        let Some(connection) = &mut seat.connection else { return (None, Left::Nothing) };
        let done = work(common, connection);
        if seat.parked {
            self.answered.notify_one();
            return (Some(done), Left::Nothing);
        }
        let interest = self.send(common, connection);
        let left = interest == Interest::Write && !seat.sends && !seat.on_porch;
        seat.on_porch |= left;
        (Some(done), if left { Left::Output } else { Left::Nothing })
    }

    /// The socket may take output again that the porch waits with.
    pub fn flush(&self, common: &Common) -> Left {
        let mut seat = self.lock();
        let sends = seat.sends;
        let left = match &mut seat.connection {
            Some(connection) if !sends => self.send(common, connection) == Interest::Write,
            _ => false,
        };
        seat.on_porch = left;
        if left { Left::Output } else { Left::Nothing }
    }

    /// Sends what can be sent, and receives nothing: that is for its own thread.
    fn send(&self, common: &Common, connection: &mut Conn<P>) -> Interest {
        match turn(common, connection, &self.stream, &mut Readiness::NONE.clone()) {
            (Turn::Closed(_), _) => {
                // Its thread finds the end when it looks, and this makes it look.
                let _ = self.stream.shutdown(Shutdown::Both);
                Interest::None
            }
            // Its turn's share is spent and there is more.
            (Turn::Again, _) => Interest::Write,
            (Turn::Waiting | Turn::Lend, interest) => interest,
        }
    }

    /// It is over: lets go of the connection. Its protocol goes too, and that may panic.
    pub fn vacate(&self, common: &Common) {
        let Some(mut connection) = self.lock().connection.take() else { return };
        if let Some(buffers) = connection.reclaim() {
            common.return_buffers(buffers);
        }
        let _ = catch_unwind(AssertUnwindSafe(|| drop(connection)));
    }
}
