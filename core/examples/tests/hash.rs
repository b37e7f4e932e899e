//! `hash`: answers from a pool, in order, while other connections go on, on every shell.

mod tools;

use std::io::Write;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::Arc;

use evserver_examples::hash::{Effort, Hash};
use evserver_examples::shells::Shell;
use evserver_hosted::WorkPool;

use tools::{Lines, Running, client, connect, run, serving, shells, text};

/// Of `abc`, from FIPS 180-2.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Of `password` with the salt `evserver`, from Python's hashlib.
const SLOW_1000: &str = "4d5aedceadfe09c08e73d357e97fa35b902a2ee486c1227356a3bf7b6e255332";

/// Serves on every shell that runs here, with two threads for the work.
fn everywhere(effort: Effort, talk: impl Fn(Shell, SocketAddr)) {
    for &shell in shells() {
        let pool = Arc::new(WorkPool::new(NonZeroUsize::new(2).unwrap()).unwrap());
        serving(shell, 1, |peer| Hash::new(&pool, effort, peer), |address| talk(shell, address));
        assert_eq!(pool.waiting(), 0, "{shell:?}");
    }
}

#[test]
fn answers_come_in_the_order_of_the_lines() {
    everywhere(Effort { rounds: 1000, timeout_ms: 0 }, |_, address| {
        let mut client = Lines::connect(address);
        client.say(&"slow password\nabc\n".repeat(5));
        for _ in 0..5 {
            client.expect(SLOW_1000);
            client.expect(ABC);
        }
        client.say("slow password\nslow password\nabc");
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        client.expect(SLOW_1000);
        client.expect(SLOW_1000);
        assert_eq!(client.next(), None, "what has no end is no line");
    });
}

/// More work than threads, and far more than one: everybody is answered, and meanwhile others are.
#[test]
fn slow_work_does_not_hinder_others() {
    const SLOW: usize = 40;
    everywhere(Effort { rounds: 20_000, timeout_ms: 0 }, |shell, address| {
        let mut slow: Vec<Lines> = (0..SLOW).map(|_| Lines::connect(address)).collect();
        for client in &mut slow {
            client.say("slow password\n");
        }
        let mut quick = Lines::connect(address);
        let mut between = 0;
        // A nudge is not answered before what is slow is; so whoever has not been answered shows that work is left.
        let last = &slow[SLOW - 1].stream;
        last.set_nonblocking(true).unwrap();
        while last.peek(&mut [0]).is_err() {
            quick.say("abc\n");
            quick.expect(ABC);
            between += 1;
        }
        last.set_nonblocking(false).unwrap();
        let mut answers: Vec<_> = slow.iter_mut().map(|client| client.next().unwrap()).collect();
        answers.dedup();
        assert_eq!(answers.len(), 1, "{shell:?}");
        assert!(between >= SLOW / 4, "{shell:?}: {between} quick answers while {SLOW} slow ones were computed");
    });
}

#[test]
fn work_that_takes_too_long_is_given_up() {
    everywhere(Effort { rounds: 2_000_000, timeout_ms: 20 }, |_, address| {
        // Two keep both threads busy for a second, so the third one's work is not even begun in time.
        let mut clients: Vec<Lines> = (0..3).map(|_| Lines::connect(address)).collect();
        for client in &mut clients {
            client.say("slow password\nabc\n");
        }
        clients[2].expect("error: it took too long");
        clients[2].expect(ABC);
    });
}

/// Clients that ask and leave: their work is not done, and does not stand in the way of others.
#[test]
fn work_of_a_client_that_left_is_not_done() {
    everywhere(Effort { rounds: 20_000, timeout_ms: 0 }, |_, address| {
        for _ in 0..200 {
            // Closed with an answer on its way.
            connect(address).write_all(b"slow password\n").unwrap();
        }
        let mut client = Lines::connect(address);
        client.say("abc\n");
        client.expect(ABC);
    });
}

#[test]
fn nc_asks_the_program() {
    let Some(_) = client("nc") else { return };
    for &shell in shells() {
        let server = Running::start(env!("CARGO_BIN_EXE_hash"), shell, &["--rounds", "1000", "--workers", "1"]);
        let (ip, port) = (server.address.ip().to_string(), server.address.port().to_string());
        let said = run(Command::new("nc").args(["-N", &ip, &port]), b"slow password\nabc\n");
        assert_eq!(text(&said), format!("{SLOW_1000}\n{ABC}\n"));
        let finished = server.stop();
        assert!(finished.success && finished.output.starts_with("served 1 connections, peak concurrent 1\n"));
    }
}
