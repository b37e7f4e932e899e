//! Pushes from other threads and from other connections.

mod support;

use std::thread;
use std::time::Instant;

use evserver_core::{CloseReason, Token};
use evserver_threads::{Handle, Limits};
use support::scripted::{Scripted, Test, push};
use support::{Client, LONG, LONG_MS, wait_until};

#[test]
fn a_push_reaches_a_connection_that_waits_for_its_client() {
    let test = Test::new();
    let (mut client, token, handle) = test.client();
    for n in 0..100 {
        assert!(push(&handle, token, &format!("pushed {n}\n")));
    }
    for n in 0..100 {
        client.expect(&format!("pushed {n}\n"));
    }
    client.send("what\n");
    client.expect("what?\n");
    drop(client);
    test.server.finish();
}

#[test]
fn a_push_to_nobody_is_refused() {
    let test = Test::new();
    let (client, token, handle) = test.client();
    drop(client);
    assert_eq!(test.reason(), CloseReason::PeerEnd);
    // Its thread lets go of it right after that.
    wait_until(|| !push(&handle, token, "x"));
    let (mut other, _, _) = test.client();
    assert!(!push(&handle, token, "for the one that left\n"));
    other.send("mine\n");
    other.expect("mine?\n");
    drop(other);
    test.server.finish();
}

#[test]
fn connections_push_to_each_other() {
    let test = Test::new();
    let (mut one, first, _) = test.client();
    let (mut two, second, _) = test.client();
    for _ in 0..50 {
        one.send(format!("tell {} from one\n", second.to_bits()));
        two.send(format!("tell {} from two\n", first.to_bits()));
        for (client, pushed) in [(&mut one, "from two\n"), (&mut two, "from one\n")] {
            let mut lines = [client.line(), client.line()];
            lines.sort();
            assert_eq!(lines, [pushed, "told\n"]);
        }
    }
    drop((one, two));
    test.server.finish();
}

/// The client sends nothing, so only the server can find out that there is room again.
#[test]
fn what_a_client_did_not_read_of_pushes_follows_when_it_does() {
    let test = Test::new();
    let (mut client, token, handle) = test.client();
    let (mut quick, _, _) = test.client();
    for _ in 0..3 {
        let text = |n: u32| format!("{n} {:1000}\n", "");
        let taken = (0..).take_while(|&n| push(&handle, token, &text(n))).count() as u32;
        assert!(taken > 0);
        // Nobody else is held up meanwhile.
        quick.send("hm\n");
        quick.expect("hm?\n");
        (0..taken).for_each(|n| client.expect(&text(n)));
        client.expect("missed some\ntime\n");
    }
    client.send("what\n");
    client.expect("what?\n");
    drop((client, quick));
    test.server.finish();
}

/// Pushes until one is refused; reads what was taken.
fn push_too_much(client: &mut Client, token: Token, handle: &Handle<Scripted>) {
    let text = |n: u32| format!("{n} {:1000}\n", "");
    let taken = (0..).take_while(|&n| push(handle, token, &text(n))).count() as u32;
    (0..taken).for_each(|n| client.expect(&text(n)));
}

/// What the protocol does in this call nobody asked for is done by a thread that is not the connection's own; its
/// timer is to be in time all the same, although that one waits for something else without a limit.
#[test]
fn a_timer_that_is_set_when_pushes_were_missed_is_told_in_time() {
    let test = Test::start(LONG_MS, Limits { idle_ms: 0, ..Limits::new() });
    let (mut client, token, handle) = test.client();
    for _ in 0..2 {
        push_too_much(&mut client, token, &handle);
        client.expect("missed some\n");
        let start = Instant::now();
        client.expect("time\n");
        assert!(start.elapsed() < LONG / 2, "it came when somebody looked by chance");
    }
    drop(client);
    test.server.finish();
}

#[test]
fn a_connection_that_is_closed_when_pushes_were_missed_lingers_no_longer_than_others() {
    let test = Test::start(LONG_MS, Limits { idle_ms: 0, linger_ms: 100, ..Limits::new() });
    let (mut client, token, handle) = test.client();
    client.send("close when missed\n");
    client.expect("will\n");
    push_too_much(&mut client, token, &handle);
    client.expect("enough\n");
    client.expect_end();
    // The client stays; the server does not wait for it.
    assert_eq!(test.reason(), CloseReason::Protocol);
    assert_eq!(test.server.finish().counts.open, 0);
    drop(client);
}

/// Replies that go out in pieces, lines that are answered and pushes in between: none is torn.
#[test]
fn pushes_come_between_replies() {
    const ITEMS: u32 = 20_000;
    const UNASKED: [&str; 3] = ["push ", "missed ", "time"];
    let test = Test::new();
    let (mut client, token, handle) = test.client();
    let pushing =
        thread::spawn(move || (0..2_000).filter(|n| push(&handle, token, &format!("push {n}\n"))).count());
    for _ in 0..5 {
        client.send(format!("list {ITEMS}\nx\n"));
    }
    let (mut lists, mut item, mut pushes) = (0, 0, 0);
    let mut next = |client: &mut Client| {
        let line = client.line();
        if UNASKED.iter().any(|begin| line.starts_with(begin)) {
            pushes += usize::from(line.starts_with("push "));
            assert!(item == 0 || item == ITEMS, "{line:?} came in the middle of a reply");
        } else if line == "x?\n" {
            assert_eq!(item, ITEMS);
            (lists, item) = (lists + 1, 0);
        } else {
            assert_eq!(line, format!("item {item}\n"));
            item += 1;
        }
        (lists, pushes)
    };
    while next(&mut client).0 < 5 {}
    let pushed = pushing.join().unwrap();
    client.send("x\n");
    // The lists were counted already; what is left is pushes and one reply.
    let mut rest = Vec::new();
    while rest.last().is_none_or(|line| line != "x?\n") {
        rest.push(client.line());
    }
    let late = rest.iter().filter(|line| line.starts_with("push ")).count();
    assert_eq!(pushes + late, pushed);
    drop(client);
    test.server.finish();
}
