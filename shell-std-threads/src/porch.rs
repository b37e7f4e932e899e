//! The one thread for connections that have none of their own to wait with: clients that are refused, and those whose
//! thread waits for something else than what another thread brought about.

mod refused;

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use evserver_core::{Interest, Protocol, Readiness, Time};
use rustix::event::{PollFd, PollFlags};

use crate::bell::Bell;
use crate::common::{Common, Phase};
use crate::entry::{Entry, Watch};
use crate::ready;
use refused::Refused;

/// Where guests are brought to; the thread that [`run`](Porch::run)s it sees to them.
///
/// Its lock is a leaf. It polls all its guests each time: refused ones are at most
/// [`REFUSED_AT_ONCE`](evserver_core::REFUSED_AT_ONCE), and the others stay only until what was brought is done or
/// their own thread has looked.
pub struct Porch<P> {
    bell: Bell,
    arrived: Mutex<Vec<Guest<P>>>,
}

/// One connection on the porch.
enum Guest<P> {
    /// Is told that the server is full.
    Refused(Box<Refused>),
    /// Something was brought that its thread does not wait for: output that the socket did not take, a deadline.
    Visited(Arc<Entry<P>>, Watch),
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

    /// Waits for what the thread of a connection does not wait for, and does what is to be done then.
    pub fn watch(&self, entry: Arc<Entry<P>>, watch: Watch) {
        self.bring(Guest::Visited(entry, watch));
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
            let now = common.clock.now();
            let mut said = said.into_iter();
            guests.retain_mut(|guest| {
                let said = said.next().unwrap_or(PollFlags::empty());
                let nothing = said.is_empty() && now < guest.deadline();
                nothing || guest.see_to(common, ready::readiness(said))
            });
            // What arrives during a wait is in the next one. The bell is silenced first, so that none is missed.
            self.bell.clear();
            let arrived = std::mem::take(&mut *self.arrived.lock().unwrap_or_else(PoisonError::into_inner));
            arrived.into_iter().for_each(|guest| guest.join(&mut guests));
        }
        guests.drain(..).for_each(|guest| guest.cast_out(common));
    }

    /// Waits until there is something to do, and says what poll said of each guest.
    fn wait(&self, common: &Common, guests: &[Guest<P>]) -> io::Result<Vec<PollFlags>> {
        let next = guests.iter().map(Guest::deadline).min().filter(|&next| next != Time::NEVER);
        let mut fds = Vec::with_capacity(1 + guests.len());
        fds.push(PollFd::new(&self.bell, PollFlags::IN));
        fds.extend(guests.iter().map(|guest| PollFd::new(guest.stream(), ready::flags(guest.interest()))));
        ready::wait_for(&mut fds, next.map(|next| common.clock.until(next)))?;
        Ok(fds[1..].iter().map(PollFd::revents).collect())
    }
}

impl<P: Protocol> Guest<P> {
    /// Joins the others; of one that is there already only what is waited for is new.
    fn join(self, guests: &mut Vec<Self>) {
        if let Self::Visited(entry, watch) = &self {
            for guest in &mut *guests {
                if let Self::Visited(there, waits) = guest
                    && there.token == entry.token
                {
                    *waits = *watch;
                    return;
                }
            }
        }
        guests.push(self);
    }

    fn stream(&self) -> &TcpStream {
        match self {
            Self::Refused(refused) => refused.stream(),
            Self::Visited(entry, _) => &entry.stream,
        }
    }

    fn interest(&self) -> Interest {
        match self {
            Self::Refused(refused) => refused.interest(),
            Self::Visited(_, watch) => watch.interest,
        }
    }

    /// When something is due without an event.
    fn deadline(&self) -> Time {
        match self {
            Self::Refused(refused) => refused.deadline(),
            Self::Visited(_, watch) => watch.deadline,
        }
    }

    /// Does what can be done. Says whether it stays.
    fn see_to(&mut self, common: &Common, readiness: Readiness) -> bool {
        match self {
            Self::Refused(refused) => refused.see_to(common, readiness),
            Self::Visited(entry, watch) => match entry.attend(common, readiness) {
                Some(next) => {
                    *watch = next;
                    true
                }
                None => false,
            },
        }
    }

    /// It cannot stay.
    fn cast_out(self, common: &Common) {
        match self {
            Self::Refused(refused) => refused.end(common),
            // Its own thread finds that and ends it.
            Self::Visited(entry, _) => {
                let _ = entry.stream.shutdown(Shutdown::Both);
            }
        }
    }
}
