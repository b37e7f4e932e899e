//! Answers that come from elsewhere, and the protocol's own timer.

mod support;

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use evserver_core::CloseReason;
use evserver_threads::Limits;
use support::scripted::{Test, Told, complete, push};
use support::{LONG_MS, wait_until};

#[test]
fn an_answer_from_elsewhere_comes_in_order() {
    let test = Test::new();
    let (mut client, _, handle) = test.client();
    let (mut other, _, _) = test.client();
    client.send("a\nlater 0\nb\nlater 0\nc\n");
    for n in 0..2 {
        let ticket = test.ticket();
        client.expect(["a?\n", "b?\n"][n]);
        other.send("free\n");
        other.expect("free?\n");
        complete(&handle, ticket, &n.to_string());
        // A second time is too late.
        complete(&handle, ticket, "twice");
        client.expect(&format!("answer {n}\n"));
    }
    client.expect("c?\n");
    drop((client, other));
    test.server.finish();
}

#[test]
fn an_answer_that_does_not_come_expires_and_is_not_taken_later() {
    const TIMEOUT: Duration = Duration::from_millis(200);
    let test = Test::new();
    let (mut client, _, handle) = test.client();
    let start = Instant::now();
    client.send("later 200\nnext\n");
    let ticket = test.ticket();
    client.expect("no answer\n");
    assert!(start.elapsed() >= TIMEOUT);
    client.expect("next?\n");
    complete(&handle, ticket, "late");
    client.send("later 0\n");
    let second = test.ticket();
    complete(&handle, ticket, "late");
    complete(&handle, second, "in time");
    client.expect("answer in time\n");
    drop(client);
    test.server.finish();
}

/// An idle limit shorter than the answer takes: waiting for an answer is not the client's idling.
#[test]
fn who_waits_for_an_answer_does_not_idle_and_can_be_pushed_to() {
    let test = Test::start(LONG_MS, Limits { idle_ms: 300, ..Limits::new() });
    let (mut client, token, handle) = test.client();
    client.send("later 0\n");
    let ticket = test.ticket();
    thread::sleep(Duration::from_millis(400));
    assert!(push(&handle, token, "patience\n"));
    client.expect("patience\n");
    thread::sleep(Duration::from_millis(400));
    complete(&handle, ticket, "at last");
    client.expect("answer at last\n");
    let start = Instant::now();
    client.expect_gone();
    assert!(start.elapsed() >= Duration::from_millis(250));
    assert_eq!(test.reason(), CloseReason::IdleTimeout);
    drop(client);
    test.server.finish();
}

#[test]
fn the_timer_of_a_protocol_is_told_in_time() {
    let test = Test::new();
    let (mut client, _, _) = test.client();
    for ms in [1, 50, 120] {
        let start = Instant::now();
        client.send(format!("timer {ms}\n"));
        client.expect("set\ntime\n");
        assert!(start.elapsed() >= Duration::from_millis(ms));
    }
    drop(client);
    test.server.finish();
}

#[test]
fn the_drain_waits_for_an_answer() {
    let test = Test::new();
    let (mut client, _, handle) = test.client();
    client.send("later 0\nb\ntail");
    let ticket = test.ticket();
    test.server.stop.drain();
    wait_until(|| TcpStream::connect(test.server.address).is_err());
    complete(&handle, ticket, "for the last line");
    client.expect("answer for the last line\nb?\n");
    client.expect_end();
    drop(client);
    let Test { server, told, .. } = test;
    assert_eq!(server.join().counts.open, 0);
    // The connections that only tried the door say something too.
    assert!(told.iter().any(|told| matches!(told, Told::Closed(CloseReason::Drained))));
}

#[test]
fn the_drain_does_not_wait_for_an_answer_for_ever() {
    const DRAIN_MS: u32 = 200;
    let test = Test::start(DRAIN_MS, Limits::new());
    let (mut client, _, _) = test.client();
    client.send("later 0\n");
    let _ticket = test.ticket();
    let start = Instant::now();
    test.server.stop.drain();
    client.expect_gone();
    assert!(start.elapsed() >= Duration::from_millis(DRAIN_MS.into()));
    assert_eq!(test.reason(), CloseReason::DrainTimeout);
    let report = test.server.join();
    assert_eq!((report.counts.open, report.counts.timed_out), (0, 1));
}
