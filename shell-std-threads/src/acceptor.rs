//! The thread that accepts: the one that called `serve`.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use evserver_core::{Connection, Protocol, STEPS_IN_A_TURN, Time};
use evserver_hosted::{Handle, Listening, Peer, Report};
use rustix::event::{PollFd, PollFlags};

use crate::client;
use crate::common::{Common, Phase};
use crate::entry::Entry;
use crate::helpers::Asked;
use crate::ledger::Complaint;
use crate::ready;
use crate::shared::Shared;
use crate::threads::Threads;

/// Clients accepted in the one sweep of a shutdown: more than any usual listen queue holds.
const SWEEP: u32 = 65_536;

/// How long a client waits for a place before it is refused. One that ends its connection and comes again is accepted by
/// another thread than the one that is to hear of the end, and which may not have run yet.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long connections that were ended may take to go, in milliseconds: a protocol that computes cannot be stopped.
const GRACE_MS: u32 = 1_000;

/// How often those that wait for answers are woken in that time: one may have begun to wait just after.
const ROUSE: Duration = Duration::from_millis(20);

/// The listeners, and what it takes to serve who comes.
pub struct Acceptor<P, F> {
    pub shared: Arc<Shared<P>>,
    pub listeners: Vec<Listening>,
    pub threads: Threads,
    pub handle: Handle<P>,
    pub asked: mpsc::Receiver<Asked>,
    pub drain_ms: u32,
    pub make: F,
}

impl<P, F> Acceptor<P, F>
where
    P: Protocol + Send + 'static,
    F: FnMut(&Peer<P>) -> P,
{
    /// Accepts until it is told to stop, and sees to the end.
    pub fn run(mut self) -> io::Result<Report> {
        loop {
            match self.asked.try_recv() {
                Ok(Asked::Drain) => return self.drain(),
                Ok(Asked::StopNow) => return Ok(self.report(true)),
                Ok(Asked::Failed(error)) => return Err(error),
                Err(_) => {}
            }
            let ready = self.wait()?;
            for listener in ready {
                self.accept_some(listener, STEPS_IN_A_TURN);
            }
        }
    }

    /// Waits for clients, if any are let in, or for the door's bell; says which listeners have some.
    fn wait(&self) -> io::Result<Vec<usize>> {
        let common = self.common();
        let door = common.ledger().door(common.clock.now());
        let (listeners, retry) = match door {
            Ok(()) => (self.listeners.as_slice(), None),
            Err(retry) => (&[][..], retry),
        };
        let mut fds = vec![PollFd::new(&common.door, PollFlags::IN)];
        fds.extend(listeners.iter().map(|listening| PollFd::new(&listening.listener, PollFlags::IN)));
        ready::wait_for(&mut fds, retry.map(|retry| common.clock.until(retry)))?;
        common.door.clear();
        Ok((0..listeners.len()).filter(|&number| !fds[1 + number].revents().is_empty()).collect())
    }

    /// Accepts until nobody waits or the turn's share is spent; whoever still waits is there in the next turn.
    fn accept_some(&mut self, listener: usize, most: u32) {
        let (mut progress, mut patience) = (false, true);
        for _ in 0..most {
            match accepted(self.listeners[listener].listener.accept()) {
                Accepted::Client(stream, address) => {
                    progress = true;
                    self.admit(stream, address, &mut patience);
                    let common = self.common();
                    if common.ledger().door(common.clock.now()).is_err() {
                        return;
                    }
                }
                Accepted::WouldBlock => return,
                Accepted::Nobody => {}
                Accepted::Exhausted => return self.rest(),
            }
        }
        if !progress {
            // Nothing but errors: the listener itself may be at fault, and it would be ready for ever.
            self.rest();
        }
    }

    /// Accepting rests for lack of descriptors or memory.
    fn rest(&self) {
        let common = self.common();
        common.ledger().exhausted(common.clock.now());
        common.complain(Complaint::AcceptExhausted);
    }

    /// Serves a client, or refuses it. Only the first for whom there is no place waits for one, so that a crowd is refused
    /// at once.
    fn admit(&mut self, stream: TcpStream, address: SocketAddr, patience: &mut bool) {
        // Linux makes an accepted socket blocking whatever the listener is, the BSDs do not (accept(2)). On macOS it
        // fails for a connection that has died in the queue.
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        // The listener handed it on, where the system does that.
        let _ = cfg!(target_os = "linux") || stream.set_nodelay(true).is_ok();
        let shared = Arc::clone(&self.shared);
        let stream = Arc::new(stream);
        let mut has_place = shared.common.ledger().has_place();
        if !has_place && std::mem::take(patience) {
            has_place = shared.common.wait_for_place(PATIENCE);
        }
        if !has_place {
            return shared.porch.refuse(&shared.common, stream);
        }
        let peer = Peer { address, handle: self.handle.clone() };
        let Ok(protocol) = catch_unwind(AssertUnwindSafe(|| (self.make)(&peer))) else {
            shared.common.ledger().never_opened();
            return shared.common.complain(Complaint::ProtocolPanicked);
        };
        self.start(&shared, stream, protocol);
    }

    /// Starts the thread of a client.
    fn start(&mut self, shared: &Arc<Shared<P>>, stream: Arc<TcpStream>, protocol: P) {
        let common = &shared.common;
        let connection = Connection::new(protocol, &common.limits, common.clock.stamp());
        let entry = Arc::new(Entry::new(shared.registry.name(), Arc::clone(&stream), connection));
        let token = entry.token;
        shared.registry.insert(Arc::clone(&entry));
        let kept = Arc::clone(&entry);
        // Before the thread could say that it is over.
        let running = common.ledger().running();
        let opened = common.ledger().opened();
        let theirs = Arc::clone(shared);
        let started = self.threads.start(running, move || client::run(&theirs, entry));
        if started.is_err() {
            // The client was never told anything, so it is still to be refused as any other.
            common.ledger().undo(opened);
            shared.registry.remove(token);
            kept.vacate(common);
            shared.porch.refuse(common, stream);
            common.complain(Complaint::NoThread);
        }
    }

    /// The shutdown, in the order of rule 12: a last sweep of accepts, the listeners close, the connections end.
    fn drain(mut self) -> io::Result<Report> {
        let until = self.common().clock.now().after(self.drain_ms);
        self.common().ledger().drain();
        for listener in 0..self.listeners.len() {
            self.accept_some(listener, SWEEP);
        }
        self.listeners.clear();
        self.common().enter(Phase::Draining);
        let common = self.common();
        let mut gone = self.wait_until_gone(until, None)?;
        if gone == Gone::NotInTime {
            self.shared.end();
            gone = self.wait_until_gone(common.clock.now().after(GRACE_MS), Some(ROUSE))?;
        }
        Ok(self.report(gone == Gone::EndNow))
    }

    /// Waits until everyone has gone, but not beyond `until`.
    fn wait_until_gone(&self, until: Time, rouse: Option<Duration>) -> io::Result<Gone> {
        let common = self.common();
        loop {
            match self.asked.try_recv() {
                Ok(Asked::StopNow) => return Ok(Gone::EndNow),
                Ok(Asked::Failed(error)) => return Err(error),
                Ok(Asked::Drain) | Err(_) => {}
            }
            if common.ledger().is_done() {
                return Ok(Gone::All);
            }
            let left = common.clock.until(until);
            if left.is_zero() {
                return Ok(Gone::NotInTime);
            }
            if rouse.is_some() {
                self.shared.rouse();
            }
            let timeout = rouse.map_or(left, |rouse| rouse.min(left));
            ready::wait_for(&mut [PollFd::new(&common.door, PollFlags::IN)], Some(timeout))?;
            common.door.clear();
        }
    }

    fn report(&self, at_once: bool) -> Report {
        Report { counts: self.common().ledger().counts(), at_once }
    }

    fn common(&self) -> &Common {
        &self.shared.common
    }
}

/// How a wait for the last connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// Everyone has gone.
    All,
    /// Not everyone, by the time that was given.
    NotInTime,
    /// Nobody is waited for any more.
    EndNow,
}

/// How accepting a client turned out.
#[derive(Debug)]
enum Accepted {
    Client(TcpStream, SocketAddr),
    /// Nobody waits.
    WouldBlock,
    /// A signal came first, or the one that waited is gone.
    Nobody,
    /// Descriptors or memory ran out, or the listener is out of order.
    Exhausted,
}

fn accepted(result: io::Result<(TcpStream, SocketAddr)>) -> Accepted {
    let error = match result {
        Ok((stream, address)) => return Accepted::Client(stream, address),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::WouldBlock => Accepted::WouldBlock,
        // The client left before it was accepted, or the network has a pending error for this one: accept(2), "Error
        // handling", asks to treat these like "try again". PermissionDenied comes from a firewall.
        ErrorKind::Interrupted
        | ErrorKind::ConnectionAborted
        | ErrorKind::ConnectionReset
        | ErrorKind::NetworkDown
        | ErrorKind::NetworkUnreachable
        | ErrorKind::HostUnreachable
        | ErrorKind::TimedOut
        | ErrorKind::PermissionDenied => Accepted::Nobody,
        _ if is_network_error(&error) => Accepted::Nobody,
        // EMFILE, ENFILE, ENOBUFS, ENOMEM; and whatever else, so that no error is ever tried without a rest.
        _ => Accepted::Exhausted,
    }
}

/// Those errors of the network that the standard library has no name for.
#[cfg(unix)]
fn is_network_error(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let Some(errno) = Errno::from_io_error(error) else { return false };
    #[cfg(target_os = "linux")]
    if errno == Errno::NONET {
        return true;
    }
    [Errno::PROTO, Errno::NOPROTOOPT, Errno::HOSTDOWN, Errno::OPNOTSUPP].contains(&errno)
}

#[cfg(not(unix))]
fn is_network_error(_error: &io::Error) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_one_client_is_not_one_of_the_listener() {
        for kind in [ErrorKind::ConnectionAborted, ErrorKind::NetworkDown, ErrorKind::Interrupted] {
            assert!(matches!(accepted(Err(kind.into())), Accepted::Nobody), "{kind}");
        }
        assert!(matches!(accepted(Err(ErrorKind::WouldBlock.into())), Accepted::WouldBlock));
        assert!(matches!(accepted(Err(ErrorKind::InvalidInput.into())), Accepted::Exhausted));
    }

    #[cfg(unix)]
    #[test]
    fn errors_by_number() {
        use rustix::io::Errno;
        let outcome = |errno: Errno| accepted(Err(io::Error::from_raw_os_error(errno.raw_os_error())));
        for errno in
            [Errno::PROTO, Errno::NOPROTOOPT, Errno::HOSTDOWN, Errno::OPNOTSUPP, Errno::PERM, Errno::HOSTUNREACH]
        {
            assert!(matches!(outcome(errno), Accepted::Nobody), "{errno}");
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::BADF, Errno::INVAL] {
            assert!(matches!(outcome(errno), Accepted::Exhausted), "{errno}");
        }
    }
}
