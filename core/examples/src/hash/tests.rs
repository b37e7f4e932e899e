//! Conversations whose answers come from a pool; the test is their loop.

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Duration;

use evserver_core::testing::Conversation;
use evserver_core::{Action, Buffers, Connection, Limits, Time};
use evserver_hosted::{Job, WakeSource};

use super::*;

/// Only what hangs takes so long.
const FOREVER: Duration = Duration::from_secs(60);
const NOW: Time = Time::from_ms(0);

/// A pool, and the loop of all connections that it answers.
struct Loop {
    pool: Arc<WorkPool>,
    peer: Peer<Hash>,
    woken: RefCell<WakeSource>,
}

impl Loop {
    fn new() -> Self {
        let pool = Arc::new(WorkPool::new(NonZeroUsize::MIN).unwrap());
        let (handle, woken) = Handle::pair().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        Self { pool, peer: Peer { address, handle }, woken: RefCell::new(woken) }
    }

    fn connect(&self, rounds: u32, timeout_ms: u32) -> Hash {
        Hash::new(&self.pool, Effort { rounds, timeout_ms }, &self.peer)
    }

    /// Waits for the next answer and takes it to the connection.
    fn bring<const N: usize>(&self, connection: &mut Connection<Hash, &mut Buffers<N>, N>) {
        while connection.action() == Action::Wait {
            let woken = self.woken.borrow_mut();
            assert!(woken.wait(Some(FOREVER)).unwrap(), "no answer comes");
            woken.clear();
            while let Some(job) = self.peer.handle.next() {
                if let Job::Complete(ticket, answer) = job {
                    // One for a connection that ended is late.
                    let _ = connection.complete(ticket, NOW, answer);
                }
            }
        }
    }
}

/// Of `abc`, from FIPS 180-2; of nothing; and of `password` with the salt `evserver` in one round and in a thousand, as
/// Python's hashlib.pbkdf2_hmac gives them.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n";
const SLOW_1: &str = "d50aaf8051efe11cfd203648587ca925f1bbe5be130a5a3a895110d6438efb64\n";
const SLOW_1000: &str = "4d5aedceadfe09c08e73d357e97fa35b902a2ee486c1227356a3bf7b6e255332\n";

#[test]
fn answers_come_in_order_in_every_way_and_through_small_buffers() {
    let input = b"abc\n\nslow password\nabc\nslow password\n\nslow";
    let output = [ABC, NOTHING, SLOW_1, ABC, SLOW_1, NOTHING].concat();
    let talk = Conversation::new(input, output.as_bytes()).random_cuts(100);
    let around = Loop::new();
    talk.check_deferred::<_, 4096>(|| around.connect(1, 0), |connection| around.bring(connection)).unwrap();
    talk.check_deferred::<_, 80>(|| around.connect(1, 0), |connection| around.bring(connection)).unwrap();
}

#[test]
fn a_slow_digest_is_what_others_compute() {
    let around = Loop::new();
    let talk = Conversation::new(b"slow password\n", SLOW_1000.as_bytes());
    talk.check_deferred::<_, 4096>(|| around.connect(1000, 0), |connection| around.bring(connection)).unwrap();
}

#[test]
fn a_digest_that_takes_too_long_is_given_up_and_the_next_line_is_answered() {
    let around = Loop::new();
    let mut buffers = Buffers::<4096>::new();
    let mut connection = Connection::new(around.connect(1, 5_000), &Limits::new(), NOW);
    connection.lend(&mut buffers, NOW);
    let input = b"slow password\nabc\n";
    connection.receive_space()[..input.len()].copy_from_slice(input);
    connection.received(input.len(), NOW);
    assert_eq!(connection.action(), Action::Wait);
    connection.handle_timeout(NOW.after(4_999));
    assert_eq!(connection.action(), Action::Wait);
    connection.handle_timeout(NOW.after(5_000));
    let answered = std::str::from_utf8(connection.transmit()).unwrap();
    assert_eq!(answered, format!("error: it took too long\n{ABC}"));
}

#[test]
fn work_that_failed_is_said() {
    let around = Loop::new();
    let mut hash = around.connect(1, 0);
    assert_eq!(hash.result, Err(WorkPanicked));
    let mut buffers = Buffers::<4096>::new();
    hash.effort.rounds = 1;
    let mut connection = Connection::new(hash, &Limits::new(), NOW);
    connection.lend(&mut buffers, NOW);
    connection.receive_space()[..7].copy_from_slice(b"slow x\n");
    connection.received(7, NOW);
    // In place of the answer of the pool, the one that it gives for a panic.
    let ticket = loop {
        assert!(around.woken.borrow().wait(Some(FOREVER)).unwrap());
        around.woken.borrow().clear();
        if let Some(Job::Complete(ticket, _)) = around.peer.handle.next() {
            break ticket;
        }
    };
    connection.complete(ticket, NOW, |hash| hash.result = Err(WorkPanicked)).unwrap();
    assert_eq!(connection.transmit(), b"error: it failed\n");
}
