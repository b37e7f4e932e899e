//! What comes to a connection from elsewhere: pushes, answers, its own timer, the panics of others.

mod support;

use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use evserver_core::{CloseReason, Ticket, Token};
use evserver_threads::{Handle, Limits, Next, Options, Peer, Protocol, Reply, Settings};
use support::{Client, LONG, LONG_MS, Running, wait_until};

/// Tells the test its token, and does what the line says.
struct Scripted {
    handle: Handle<Scripted>,
    tell: Sender<Told>,
    answer: Option<String>,
    listing: u32,
}

/// What the test hears of a connection.
#[derive(Debug)]
enum Told {
    Opened(Token),
    Waits(Ticket),
    Closed(CloseReason),
}

impl Protocol for Scripted {
    fn room(&self, len: usize) -> usize {
        len + 64
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.tell.send(Told::Opened(reply.token())).unwrap();
        say(reply, "hello\n")
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        let words = String::from_utf8_lossy(line).into_owned();
        match words.split_whitespace().collect::<Vec<_>>()[..] {
            ["later", ms] => {
                let ticket = reply.ticket(ms.parse().unwrap());
                self.tell.send(Told::Waits(ticket)).unwrap();
                Next::Later(ticket)
            }
            ["timer", ms] => {
                reply.set_timer(ms.parse().unwrap());
                say(reply, "set\n")
            }
            ["tell", token, ref rest @ ..] => {
                let text = format!("{}\n", rest.join(" "));
                self.handle.push(Token::from_bits(token.parse().unwrap()), text.into_bytes());
                say(reply, "told\n")
            }
            // More than any buffer holds, in pieces.
            ["list", count] => {
                while self.listing < count.parse().unwrap() {
                    if reply.put(format!("item {}\n", self.listing).as_bytes()).is_err() {
                        return Next::More;
                    }
                    self.listing += 1;
                }
                self.listing = 0;
                Next::Line
            }
            ["panic"] => panic!("asked to"),
            _ => say(reply, &format!("{words}?\n")),
        }
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        let answer = self.answer.take().unwrap();
        say(reply, &format!("answer {answer}\n"))
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        say(reply, "no answer\n")
    }

    fn timer(&mut self, reply: &mut Reply<'_>) -> Next {
        say(reply, "time\n")
    }

    fn closed(&mut self, reason: CloseReason) {
        // The test may be over.
        let _ = self.tell.send(Told::Closed(reason));
    }
}

fn say(reply: &mut Reply<'_>, text: &str) -> Next {
    match reply.put(text.as_bytes()) {
        Ok(()) => Next::Line,
        Err(_) => Next::Close,
    }
}

struct Test {
    server: Running,
    told: Receiver<Told>,
    handles: Receiver<Handle<Scripted>>,
}

impl Test {
    fn start(drain_ms: u32, limits: Limits) -> Self {
        let (tell, told) = mpsc::channel();
        let (give, handles) = mpsc::channel();
        let make = move |peer: &Peer<Scripted>| {
            give.send(peer.handle.clone()).unwrap();
            Scripted { handle: peer.handle.clone(), tell: tell.clone(), answer: None, listing: 0 }
        };
        let settings = Settings { drain_ms, limits, ..Settings::default() };
        Self { server: Running::start(Options { settings, ..Options::default() }, make), told, handles }
    }

    fn new() -> Self {
        Self::start(LONG_MS, Limits::new())
    }

    fn client(&self) -> (Client, Token, Handle<Scripted>) {
        let mut client = self.server.connect();
        client.expect("hello\n");
        let Told::Opened(token) = self.told() else { panic!("it did not open") };
        (client, token, self.handles.recv_timeout(LONG).unwrap())
    }

    fn told(&self) -> Told {
        self.told.recv_timeout(LONG).unwrap()
    }

    fn ticket(&self) -> Ticket {
        match self.told() {
            Told::Waits(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn reason(&self) -> CloseReason {
        match self.told() {
            Told::Closed(reason) => reason,
            other => panic!("{other:?}"),
        }
    }
}

/// Pushes and says whether it was taken.
fn push(handle: &Handle<Scripted>, token: Token, text: &str) -> bool {
    let (say, heard) = mpsc::channel();
    handle.push_or(token, text.as_bytes(), move |taken| say.send(taken).unwrap());
    heard.recv_timeout(LONG).unwrap()
}

fn complete(handle: &Handle<Scripted>, ticket: Ticket, answer: &str) {
    let answer = answer.to_owned();
    handle.complete(ticket, move |protocol| protocol.answer = Some(answer));
}

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
    for round in 0..3 {
        let mut taken = 0;
        while push(&handle, token, &format!("{round} {taken} {:1000}\n", "")) {
            taken += 1;
        }
        // Nobody else is held up meanwhile.
        quick.send("hm\n");
        quick.expect("hm?\n");
        for n in 0..taken {
            client.expect(&format!("{round} {n} {:1000}\n", ""));
        }
        assert!(taken > 0);
    }
    client.send("what\n");
    client.expect("what?\n");
    drop((client, quick));
    test.server.finish();
}

/// Replies that go out in pieces, lines that are answered and pushes in between: none is torn.
#[test]
fn pushes_come_between_replies() {
    const ITEMS: u32 = 20_000;
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
        if line.starts_with("push ") {
            pushes += 1;
            assert!(item == 0 || item == ITEMS, "a push came in the middle of a reply");
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
