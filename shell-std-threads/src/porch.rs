//! The one thread for connections that have none of their own to wait with: clients that are refused, and output
//! that another thread brought and the socket did not take.

mod refused;

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evserver_core::{Interest, Protocol};
use rustix::event::{PollFd, PollFlags};

use crate::bell::Bell;
use crate::common::{Common, Phase};
use crate::entry::{Entry, Left};
use crate::ready;
use refused::Refused;

/// Where guests are brought to; the thread that [`run`](Porch::run)s it sees to them.
///
/// Its lock is a leaf. It polls all its guests each time: refused ones are at most
/// [`REFUSED_AT_ONCE`](evserver_core::REFUSED_AT_ONCE), and the others stay only until their socket takes output or
/// their own thread wakes.
pub struct Porch<P> {
    bell: Bell,
    arrived: Mutex<Vec<Guest<P>>>,
}

/// One connection on the porch.
enum Guest<P> {
    /// Is told that the server is full.
    Refused(Box<Refused>),
    /// Its socket did not take the output that another thread brought.
    Blocked(Arc<Entry<P>>),
}

impl<P: Protocol> Porch<P> {
    /// An empty one.
    ///
    /// # Errors
    /// Those of [`Bell::new`].
    pub fn new() -> io::Result<Self> {
        Ok(Self { bell: Bell::new()?, arrived: Mutex::new(Vec::new()) })
    }

    /// Tells a client that the server is full, and closes it as rule 5 says.
    pub fn refuse(&self, common: &Common, stream: Arc<TcpStream>) {
        common.ledger().refused();
        self.bring(Guest::Refused(Box::new(Refused::new(common, stream))));
    }

    /// Waits until the socket takes output, and sends it.
    pub fn flush(&self, entry: Arc<Entry<P>>) {
        self.bring(Guest::Blocked(entry));
    }

    fn bring(&self, guest: Guest<P>) {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).push(guest);
        self.bell.ring();
    }

    /// Has its thread look how far the server has come.
    pub fn wake(&self) {
        self.bell.ring();
    }

    /// Sees to the guests until the server is over.
    pub fn run(&self, common: &Common) {
        let mut guests: Vec<Guest<P>> = Vec::new();
        while common.phase() != Phase::Over {
            // An error (no memory, or more guests than the limit of descriptors) leaves no way to wait with them.
            let Ok(said) = self.wait(common, &guests) else {
                guests.drain(..).for_each(|guest| guest.cast_out(common));
                continue;
            };
            let mut said = said.into_iter();
            guests.retain_mut(|guest| guest.see_to(common, said.next().unwrap_or(PollFlags::empty())));
            // What arrives during a wait is in the next one. The bell is silenced first, so that none is missed.
            self.bell.clear();
            guests.append(&mut *self.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        }
        guests.drain(..).for_each(|guest| guest.cast_out(common));
    }

    /// Waits until there is something to do, and says what poll said of each guest.
    fn wait(&self, common: &Common, guests: &[Guest<P>]) -> io::Result<Vec<PollFlags>> {
        let timeout = guests.iter().filter_map(|guest| guest.time_left(common)).min();
        let mut fds = Vec::with_capacity(1 + guests.len());
        fds.push(PollFd::new(&self.bell, PollFlags::IN));
        fds.extend(guests.iter().map(|guest| PollFd::new(guest.stream(), ready::flags(guest.interest()))));
        ready::wait_for(&mut fds, timeout)?;
        Ok(fds[1..].iter().map(PollFd::revents).collect())
    }
}

impl<P: Protocol> Guest<P> {
    fn stream(&self) -> &TcpStream {
        match self {
            Self::Refused(refused) => refused.stream(),
            Self::Blocked(entry) => &entry.stream,
        }
    }

    fn interest(&self) -> Interest {
        match self {
            Self::Refused(refused) => refused.interest(),
            Self::Blocked(_) => Interest::Write,
        }
    }

    /// Until something is due without an event; its own thread sees to the deadlines of a blocked one.
    fn time_left(&self, common: &Common) -> Option<Duration> {
        match self {
            Self::Refused(refused) => refused.time_left(common),
            Self::Blocked(_) => None,
        }
    }

    /// Does what can be done. Says whether it stays.
    fn see_to(&mut self, common: &Common, said: PollFlags) -> bool {
        match self {
            Self::Refused(refused) => refused.see_to(common, said),
            Self::Blocked(_) if said.is_empty() => true,
            Self::Blocked(entry) => entry.flush(common) == Left::Output,
        }
    }

    /// It cannot stay.
    fn cast_out(self, common: &Common) {
        match self {
            Self::Refused(refused) => refused.end(common),
            // Its own thread finds that and ends it.
            Self::Blocked(entry) => {
                let _ = entry.stream.shutdown(Shutdown::Both);
            }
        }
    }
}
