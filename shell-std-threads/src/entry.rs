//! One connection as several threads see it: its own, which waits for its socket, and those that bring it something.

use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evserver_core::{Interest, Protocol, Readiness, Ticket, Time, Token, Turn};

use crate::common::Common;
use crate::turn::{Conn, act_on_deadlines, guarded, lend, turn};

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
    /// When its thread looks at the latest, whatever happens.
    pub looks: Time,
    /// What the porch waits for on its behalf.
    porch: Option<Watch>,
}

/// What somebody else must wait for, since its own thread waits for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Output that the socket did not take, or nothing.
    pub interest: Interest,
    /// A deadline that is earlier than its thread looks, or the end of time.
    pub deadline: Time,
}

impl Watch {
    /// Whether who waits for this need not wait for `other` too.
    fn covers(self, other: Self) -> bool {
        (self.interest == other.interest || other.interest == Interest::None) && self.deadline <= other.deadline
    }
}

impl<P: Protocol> Entry<P> {
    /// A connection that was just made.
    pub fn new(token: Token, stream: Arc<TcpStream>, mut connection: Conn<P>) -> Self {
        connection.set_token(token);
        let seat =
            Seat { connection: Some(connection), parked: false, sends: false, looks: Time::NEVER, porch: None };
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
    pub fn push(&self, common: &Common, bytes: &[u8]) -> (bool, Option<Watch>) {
        let (pushed, watch) = self.bring(common, |common, connection| {
            lend(common, connection);
            guarded(common, connection, |connection| connection.push(bytes, common.clock.stamp()).is_ok())
        });
        (pushed.flatten().unwrap_or(false), watch)
    }

    /// Hands over the answer that a ticket stands for; late, it is dropped.
    pub fn complete(
        &self,
        common: &Common,
        ticket: Ticket,
        answer: Box<dyn FnOnce(&mut P) + Send>,
    ) -> Option<Watch> {
        let complete = |common: &Common, connection: &mut Conn<P>| {
            guarded(common, connection, |connection| {
                // Late: whom it was for has been told that it timed out.
                let _ = connection.complete(ticket, common.clock.stamp(), answer);
            })
        };
        self.bring(common, complete).1
    }

    /// Does something with the connection from another thread than its own, and sends what comes of it. Says what the
    /// porch has to wait for from now on.
    fn bring<R>(
        &self,
        common: &Common,
        work: impl FnOnce(&Common, &mut Conn<P>) -> R,
    ) -> (Option<R>, Option<Watch>) {
        let mut seat = self.lock();
        let Seat { connection: Some(connection), parked, .. } = &mut *seat else { return (None, None) };
        let done = work(common, connection);
        if *parked {
            // Until its thread runs, more may be pushed than there is room for: so output is sent here. An answer that
            // finds no output pending is left to that thread.
            if connection.interest() == Interest::Write {
                let mut nothing_said = Readiness::NONE;
                turn(common, connection, &self.stream, &mut nothing_said);
            }
            self.answered.notify_one();
            return (Some(done), None);
        }
        let watch = self.settle(common, &mut seat, Readiness::NONE);
        let news = watch.filter(|watch| !seat.porch.is_some_and(|porch| porch.covers(*watch)));
        seat.porch = news.or(seat.porch);
        (Some(done), news)
    }

    /// The porch has waited: something was said of the socket, or a deadline has come. Says what it waits for next.
    pub fn attend(&self, common: &Common, mut readiness: Readiness) -> Option<Watch> {
        let mut seat = self.lock();
        if let Some(connection) = &mut seat.connection {
            act_on_deadlines(common, connection, &self.stream, &mut readiness);
        }
        seat.porch = self.settle(common, &mut seat, readiness);
        seat.porch
    }

    /// Moves what can move, and finds out what its own thread, which waits, does not wait for.
    ///
    /// That thread need not be woken for the rest: what it waits for still wakes it. Only an end must be brought to
    /// its notice, and for that the socket is shut.
    fn settle(&self, common: &Common, seat: &mut Seat<P>, mut readiness: Readiness) -> Option<Watch> {
        let connection = seat.connection.as_mut()?;
        let output = match turn(common, connection, &self.stream, &mut readiness) {
            (Turn::Closed(_), _) => {
                let _ = self.stream.shutdown(Shutdown::Both);
                return None;
            }
            // Its turn's share is spent and there is more.
            (Turn::Again, _) => true,
            (Turn::Waiting | Turn::Lend, interest) => interest == Interest::Write,
        };
        let deadline = connection.deadlines().earliest();
        let interest = if output && !seat.sends { Interest::Write } else { Interest::None };
        let deadline = if deadline < seat.looks { deadline } else { Time::NEVER };
        (interest != Interest::None || deadline != Time::NEVER).then_some(Watch { interest, deadline })
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

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};

    use evserver_core::{Limits, Next, Reply, Settings};

    /// Waits for an answer from the first moment on.
    pub struct Asks;

    impl Protocol for Asks {
        fn room(&self, _: usize) -> usize {
            0
        }

        fn open(&mut self, reply: &mut Reply<'_>) -> Next {
            Next::Later(reply.ticket(Limits::new().idle_ms))
        }

        fn line(&mut self, _: &[u8], _: &mut Reply<'_>) -> Next {
            Next::Line
        }
    }

    /// A connection that nobody serves, and its client.
    pub fn connected(token: Token, now: Time) -> (Entry<Asks>, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = listener.accept().unwrap().0;
        stream.set_nonblocking(true).unwrap();
        (Entry::new(token, Arc::new(stream), Conn::new(Asks, &Limits::new(), now)), client)
    }

    #[test]
    fn who_waits_for_more_or_looks_earlier_covers_the_rest() {
        use Interest::{None, Write};
        let watch = |interest, ms| Watch { interest, deadline: Time::from_ms(ms) };
        for (has, asked, covered) in [
            (watch(Write, 5), watch(Write, 5), true),
            (watch(Write, 5), watch(None, 6), true),
            (watch(Write, 5), watch(Write, 4), false),
            (watch(None, 5), watch(Write, 5), false),
            (watch(None, 5), watch(None, 4), false),
        ] {
            assert_eq!(has.covers(asked), covered, "{has:?} {asked:?}");
        }
    }

    #[test]
    fn what_is_pushed_is_sent_although_its_thread_was_woken_and_does_not_run() {
        const PUSH: [u8; 1000] = [b'x'; 1000];
        const PUSHES: usize = 20;
        let common = Common::new(&Settings::default()).unwrap();
        let (entry, mut client) = connected(Token::from_bits(1), common.clock.now());
        let interest = {
            let mut seat = entry.lock();
            // As its thread leaves it when it waits for the answer; there is no thread that could wake up.
            seat.parked = true;
            let mut nothing_said = Readiness::NONE;
            turn(&common, seat.connection.as_mut().unwrap(), &entry.stream, &mut nothing_said).1
        };
        assert_eq!(interest, Interest::None);
        for number in 0..PUSHES {
            assert_eq!(entry.push(&common, &PUSH), (true, None), "push {number}");
        }
        let mut received = [0; PUSHES * PUSH.len()];
        client.read_exact(&mut received).unwrap();
        assert!(received.iter().all(|&byte| byte == b'x'));
    }
}
