//! A panic loses its own connection only.

mod support;

use std::thread;

use evserver_core::CloseReason;
use evserver_threads::{Next, Options, Protocol, Reply};
use support::Running;
use support::scripted::{Test, push, say};

#[test]
fn a_panic_loses_its_own_connection_only() {
    let test = Test::new();
    let (mut bad, token, handle) = test.client();
    let (mut good, _, _) = test.client();
    bad.send("a\npanic\nb\n");
    bad.expect_gone();
    assert!(!push(&handle, token, "x"));
    // In the function that brings an answer, on a thread that all connections share.
    let (mut worse, _, _) = test.client();
    worse.send("later 0\n");
    handle.complete(test.ticket(), |_| panic!("asked to"));
    worse.expect_gone();
    // In a function that hears of a push.
    handle.push_or(token, *b"x", |_| panic!("asked to"));
    good.send("still\n");
    good.expect("still?\n");
    drop(good);
    let report = test.server.finish();
    assert_eq!((report.counts.served, report.counts.panicked), (3, 2));
}

/// Panics wherever else a protocol is called: when it is made, when it greets, when it is closed, when it is dropped.
struct Trap(u32);

impl Protocol for Trap {
    fn room(&self, len: usize) -> usize {
        len
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        assert_ne!(self.0, 1, "asked to");
        say(reply, "hello\n")
    }

    fn line(&mut self, _line: &[u8], _reply: &mut Reply<'_>) -> Next {
        Next::Close
    }

    fn closed(&mut self, _reason: CloseReason) {
        assert_ne!(self.0, 2, "asked to");
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        assert!(self.0 != 3 || thread::panicking(), "asked to");
    }
}

#[test]
fn a_panic_anywhere_is_survived() {
    let mut number = 0;
    let server = Running::start(Options::default(), move |_| {
        number += 1;
        assert_ne!(number, 4, "asked to");
        Trap(number)
    });
    for number in 1..=5 {
        let mut client = server.connect();
        if number != 1 && number != 4 {
            client.expect("hello\n");
            client.send("x\n");
        }
        client.expect_gone();
    }
    assert_eq!(server.finish().counts.served, 4);
}
