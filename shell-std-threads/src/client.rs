//! The thread of one connection.

use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use evserver_core::{CloseReason, Interest, Protocol, Readiness, Time, Turn};

use crate::common::{Common, Phase};
use crate::entry::Entry;
use crate::ready;
use crate::shared::Shared;
use crate::turn::{act_on_deadlines, guarded, turn};

/// Serves one connection to its end, and closes it.
pub fn run<P: Protocol>(shared: &Shared<P>, entry: Arc<Entry<P>>) {
    let common = &shared.common;
    // Panics of the protocol do not come here; one of this code must not leave the connection behind.
    let reason = catch_unwind(AssertUnwindSafe(|| serve(common, &entry))).unwrap_or(CloseReason::Panicked);
    shared.registry.remove(entry.token);
    entry.vacate(common);
    common.ended(reason);
    // Someone who polls it still may hold it for a moment; the peer is not to wait for that.
    let _ = entry.stream.shutdown(Shutdown::Both);
    drop(entry);
    let tell = common.ledger().closed();
    common.left(tell);
}

/// Goes round until the connection is over: move what can move, then wait for the socket, an answer or a deadline.
fn serve<P: Protocol>(common: &Common, entry: &Entry<P>) -> CloseReason {
    let mut readiness = Readiness::NONE;
    loop {
        let mut seat = entry.lock();
        seat.sends = false;
        let Some(connection) = &mut seat.connection else { return CloseReason::Failed };
        match common.phase() {
            Phase::Serving => {}
            Phase::Draining if connection.is_draining() => {}
            Phase::Draining => {
                connection.drain();
                readiness.readable = true;
            }
            Phase::Over => {
                guarded(common, connection, |connection| connection.abandon(CloseReason::DrainTimeout));
            }
        }
        act_on_deadlines(common, connection, &entry.stream, &mut readiness);
        let interest = match turn(common, connection, &entry.stream, &mut readiness) {
            (Turn::Closed(reason), _) => return reason,
            (Turn::Again, _) => continue,
            (Turn::Waiting | Turn::Lend, interest) => interest,
        };
        let deadline = connection.deadlines().earliest();
        let timeout = (deadline != Time::NEVER).then(|| common.clock.until(deadline));
        let bell = if connection.is_draining() { &common.end } else { &common.drain };
        readiness = Readiness::NONE;
        if interest == Interest::None {
            entry.park(seat, timeout);
            continue;
        }
        seat.sends = interest == Interest::Write;
        seat.looks = deadline;
        drop(seat);
        readiness = ready::wait(&entry.stream, interest, bell, timeout).unwrap_or_else(|_| {
            // Without a way to wait it cannot be served; the next turn closes it.
            if let Some(connection) = &mut entry.lock().connection {
                guarded(common, connection, |connection| connection.failed());
            }
            Readiness::NONE
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read};
    use std::thread;
    use std::time::Duration;

    use evserver_core::{Settings, Token};

    use crate::entry::tests::connected;

    #[test]
    fn a_peer_that_is_cut_off_sees_it_after_its_place_is_free() {
        let shared = Shared::new(&Settings::default()).unwrap();
        let common = &shared.common;
        let (entry, mut peer) = connected(Token::from_bits(1), common.clock.now());
        let _ = common.ledger().opened();
        common.enter(Phase::Over);
        thread::scope(|scope| {
            let ledger = common.ledger();
            scope.spawn(|| run(&shared, Arc::new(entry)));
            // Nobody can be counted out meanwhile.
            peer.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            let early = peer.read(&mut [0]).unwrap_err().kind();
            assert!(matches!(early, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{early}");
            drop(ledger);
            peer.set_read_timeout(None).unwrap();
            assert_eq!(peer.read(&mut [0]).unwrap(), 0);
            assert_eq!(common.ledger().counts().open, 0);
        });
    }
}
