//! A protocol that panics loses its own connection and nothing else, in whatever call it does, on every shell.

mod tools;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Instant;

use tools::{FOREVER, Lines, Running, connect, shells};

const PANICKING: &str = env!("CARGO_BIN_EXE_panicking");

/// Sends this, and waits for the server's end, clean or not.
fn lose(address: SocketAddr, text: &[u8], half_close: bool) {
    let mut stream = connect(address);
    // A client whose protocol could not be made may find that out here.
    let _ = stream.write_all(text);
    if half_close {
        stream.shutdown(Shutdown::Write).unwrap();
    }
    lose_slowly(stream);
}

/// Waits for the server's end, clean or not.
fn lose_slowly(mut stream: TcpStream) {
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[test]
fn every_call_may_panic() {
    for &shell in shells() {
        let server = Running::start(PANICKING, shell, &["--idle-timeout", "0"]);
        let mut witness = Lines::connect(server.address);
        let mut check = |text: &str| {
            witness.say(&format!("{text}\n"));
            witness.expect(text);
        };
        check("before");
        for text in [&b"line\n"[..], b"body\nabc", b"completed\n", b"answer\n", b"expired\n", b"timer\n"] {
            lose(server.address, text, false);
            check("still here");
        }
        for text in [&b"closed\n"[..], b"drop\n", b"end"] {
            lose(server.address, text, true);
            check("still here");
        }
        // What is told of a push belongs to no connection, so none is lost.
        let mut pusher = Lines::connect(server.address);
        pusher.say("outcome\n");
        pusher.expect("outcome");
        pusher.expect("pushed");
        check("still here");
        drop(pusher);
        // This one is told that it missed something when it reads again, so it must not read before.
        let mut slow = connect(server.address);
        slow.write_all(b"missed\n").unwrap();
        let until = Instant::now() + FOREVER;
        loop {
            assert!(Instant::now() < until, "no push is ever refused");
            witness.say("refused?\n");
            if witness.next().as_deref() == Some("refused?") {
                break;
            }
        }
        lose_slowly(slow);
        let mut check = |text: &str| {
            witness.say(&format!("{text}\n"));
            witness.expect(text);
        };
        for text in ["making", "open"] {
            check(text);
            lose(server.address, b"hello\n", false);
            check("still here");
        }
        let finished = server.stop();
        assert!(finished.success, "{shell:?}: {}", finished.errors);
        for call in [
            "line",
            "body",
            "completed",
            "answer",
            "expired",
            "timer",
            "missed",
            "closed",
            "drop",
            "end",
            "outcome",
            "making",
            "open",
        ] {
            let said = finished.errors.matches(&format!("wanted: {call}\n")).count();
            assert_eq!(said, 1, "{shell:?}: {call} in {}", finished.errors);
        }
        assert!(finished.errors.contains("a protocol panicked"), "{shell:?}: {}", finished.errors);
        assert!(finished.output.starts_with("served "), "{shell:?}: {}", finished.output);
        assert!(finished.output.contains("panic"), "{shell:?}: {}", finished.output);
    }
}

/// An end at once drops what is left, one after the other, and says its report all the same.
#[test]
fn whoever_is_left_at_an_end_at_once_may_panic() {
    for &shell in shells() {
        let server = Running::start(PANICKING, shell, &["--drain-timeout", "60"]);
        let mut clients: Vec<_> = (0..3).map(|_| Lines::connect(server.address)).collect();
        for client in &mut clients {
            client.say("drop later\n");
            client.expect("drop later");
            // The drain waits for this answer.
            client.say("never\n");
        }
        let finished = server.stop_at_once();
        assert_eq!(finished.code, Some(1), "{shell:?}: {}", finished.errors);
        assert!(finished.output.starts_with("served "), "{shell:?}: {}", finished.output);
    }
}
