//! `serve` as a library: many protocols, limits, the end.

mod support;

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use evserver_core::CloseReason;
use evserver_threads::{Limits, Next, NumberedEcho, Options, Protocol, Reply, Settings};
use support::{Client, LONG, LONG_MS, Running, wait_until};

fn echo(options: Options) -> Running {
    Running::start(options, |_| NumberedEcho::new())
}

fn options(settings: Settings) -> Options {
    Options { settings: Settings { drain_ms: LONG_MS, ..settings }, ..Options::default() }
}

#[test]
fn it_serves_several_clients_and_reports() {
    let server = echo(options(Settings::default()));
    let mut clients: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.expect("ready\n");
    }
    for client in &mut clients {
        client.send("a\nb\n");
        client.expect("1: a\n2: b\n");
    }
    for client in &mut clients {
        client.send("quit\n");
        client.expect("bye\n");
        client.expect_end();
    }
    drop(clients);
    let report = server.finish();
    assert_eq!(report.to_string(), "served 20 connections, peak concurrent 20");
    assert!(!report.at_once);
}

#[test]
fn at_the_limit_a_client_is_told_and_a_place_is_given_again() {
    let server = echo(options(Settings { max_connections: Some(1), ..Settings::default() }));
    let mut first = server.connect();
    first.expect("ready\n");
    let mut second = server.connect();
    second.send("unread\n");
    second.expect("server full\n");
    second.expect_end();
    first.send("quit\n");
    first.expect("bye\n");
    first.expect_end();
    drop((first, second));
    wait_until(|| server.connect().line() == "ready\n");
    let report = server.finish();
    assert_eq!((report.counts.served, report.counts.peak), (2, 1));
    assert!(report.counts.refused >= 1);
}

/// A protocol whose end takes a while.
struct Leaves;

impl Protocol for Leaves {
    fn room(&self, _: usize) -> usize {
        0
    }

    fn line(&mut self, _: &[u8], _: &mut Reply<'_>) -> Next {
        Next::Close
    }

    fn closed(&mut self, _: CloseReason) {
        thread::sleep(Duration::from_millis(5));
    }
}

/// The thread that accepts is there before the one that ends its connection.
#[test]
fn who_said_goodbye_finds_its_place_when_it_comes_again() {
    const TIMES: u64 = 50;
    let server = Running::start(options(Settings { max_connections: Some(1), ..Settings::default() }), |_| Leaves);
    for _ in 0..TIMES {
        let mut client = server.connect();
        client.send("any line\n");
        client.rest();
    }
    let report = server.finish();
    assert_eq!((report.counts.served + report.counts.refused, report.counts.peak), (TIMES, 1));
    // On a busy machine a thread may not run for longer than a place is waited for.
    assert!(report.counts.refused <= TIMES / 2, "{report}");
}

/// The stack is larger than any address space, so that no thread can be started.
#[test]
fn a_client_for_whom_there_is_no_thread_is_told_that_the_server_is_full() {
    let server = echo(Options { stack_bytes: 1 << 46, ..options(Settings::default()) });
    // More than may linger at one time: none is left behind.
    for _ in 0..100 {
        let mut client = server.connect();
        client.send("unread\n");
        client.expect("server full\n");
        client.expect_end();
    }
    let report = server.finish();
    assert_eq!((report.counts.served, report.counts.peak, report.counts.refused), (0, 0, 100));
}

/// While the server drains, bytes that come too late must neither be answered nor turn the last replies into a reset.
#[test]
fn a_client_that_sends_on_through_the_drain_gets_whole_replies_and_a_proper_end() {
    const CLIENTS: usize = 8;
    for _ in 0..5 {
        let server = echo(options(Settings::default()));
        let (say, talks) = mpsc::channel();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (mut client, say) = (server.connect(), say.clone());
                thread::spawn(move || talk_to_the_end(&mut client, &say))
            })
            .collect();
        for _ in 0..CLIENTS {
            talks.recv_timeout(LONG).unwrap();
        }
        // The rest of each conversation goes on through the drain.
        assert_eq!(server.finish().counts.served, CLIENTS as u64);
        for client in clients {
            let replies = client.join().expect("a client's connection was reset");
            for (number, line) in replies.split_inclusive('\n').enumerate() {
                assert_eq!(line, format!("{}: some line\n", number + 2));
            }
        }
    }
}

/// Sends lines without a pause until the server has ended its side, and gives the replies from the second one on.
fn talk_to_the_end(client: &mut Client, say: &mpsc::Sender<()>) -> String {
    let mut sender = client.stream().try_clone().unwrap();
    let sending = thread::spawn(move || while sender.write_all(b"some line\n").is_ok() {});
    client.expect("ready\n1: some line\n");
    say.send(()).unwrap();
    let replies = client.rest();
    client.stream().shutdown(Shutdown::Both).unwrap();
    sending.join().unwrap();
    replies
}

#[test]
fn half_typed_lines_are_dropped_and_whole_ones_answered_at_the_drain() {
    let server = echo(options(Settings::default()));
    let mut client = server.connect();
    client.expect("ready\n");
    client.send("a\nb\ntail");
    client.expect("1: a\n2: b\n");
    let mut idle = server.connect();
    idle.expect("ready\n");
    server.stop.drain();
    client.expect_end();
    idle.expect_end();
    drop((client, idle));
    assert_eq!(server.join().counts.served, 2);
}

/// Answers a line with one that never ends, so that whoever does not read is held back for ever.
struct Endless;

impl Protocol for Endless {
    fn room(&self, _len: usize) -> usize {
        usize::MAX
    }

    fn line(&mut self, _line: &[u8], reply: &mut Reply<'_>) -> Next {
        let _ = reply.put_some(&[b'x'; 4096]);
        Next::More
    }
}

/// A server with a client that does not read what it is told.
fn stuck(drain_ms: u32) -> (Running, Client) {
    let settings = Settings { drain_ms, ..Settings::default() };
    let server = Running::start(Options { settings, ..Options::default() }, |_| Endless);
    let mut client = server.connect();
    client.send("go\n");
    // The reply has begun.
    assert_eq!(client.byte(), b'x');
    (server, client)
}

#[test]
fn a_client_that_does_not_read_is_given_up_when_the_drain_is_over() {
    const DRAIN_MS: u32 = 300;
    let (server, mut client) = stuck(DRAIN_MS);
    let start = Instant::now();
    server.stop.drain();
    let report = server.join();
    assert!(start.elapsed() >= Duration::from_millis(DRAIN_MS.into()));
    assert_eq!((report.counts.timed_out, report.counts.open, report.at_once), (1, 0, false));
    client.expect_gone();
}

/// Answers a line with so many bytes, more than any socket buffers.
struct Large(usize);

impl Protocol for Large {
    fn room(&self, _len: usize) -> usize {
        usize::MAX
    }

    fn line(&mut self, _line: &[u8], reply: &mut Reply<'_>) -> Next {
        self.0 -= reply.put_some(&[b'x'; 4096][..self.0.min(4096)]);
        if self.0 > 0 { Next::More } else { Next::Line }
    }
}

#[test]
fn a_reply_that_was_begun_leaves_after_the_drain_has_begun_also_when_no_time_was_set() {
    const BYTES: usize = 16 * 1024 * 1024;
    let server = Running::start(Options::default(), |_| Large(BYTES));
    let mut client = server.connect();
    client.send("go\n");
    assert_eq!(client.byte(), b'x');
    server.stop.drain();
    // The listener is closed when the drain has begun.
    wait_until(|| TcpStream::connect(server.address).is_err());
    let rest = client.rest();
    assert_eq!(rest.len() + 1, BYTES);
    assert_eq!(server.join().counts.timed_out, 0);
}

#[test]
fn stop_now_waits_for_nobody() {
    let (server, mut client) = stuck(LONG_MS);
    let idle = server.connect();
    server.stop.stop_now();
    assert!(server.join().at_once);
    client.expect_gone();
    drop(idle);
}

#[test]
fn stop_now_ends_a_drain() {
    let (server, mut client) = stuck(LONG_MS);
    server.stop.drain();
    // The listener is closed when the drain has begun.
    wait_until(|| TcpStream::connect(server.address).is_err());
    server.stop.stop_now();
    assert!(server.join().at_once);
    client.expect_gone();
}

#[test]
fn a_silent_client_is_closed_at_the_limit_and_not_before() {
    const IDLE: Duration = Duration::from_millis(200);
    let limits = Limits { idle_ms: IDLE.as_millis() as u32, ..Limits::new() };
    let server = echo(options(Settings { limits, ..Settings::default() }));
    let mut client = server.connect();
    client.expect("ready\n");
    let start = Instant::now();
    client.send("par");
    client.expect_gone();
    assert!(start.elapsed() >= IDLE);
    let report = server.finish();
    assert_eq!(report.counts.timed_out, 1);
}

/// What the standard library's timeouts of single reads get wrong: the rest of a line comes late.
#[test]
fn a_line_in_two_halves_is_one_line() {
    let limits = Limits { idle_ms: 2_000, ..Limits::new() };
    let server = echo(options(Settings { limits, ..Settings::default() }));
    let mut client = server.connect();
    client.expect("ready\n");
    for _ in 0..3 {
        client.send("par");
        thread::sleep(Duration::from_millis(300));
    }
    client.send("tial\n");
    client.expect("1: parparpartial\n");
    drop(client);
    server.finish();
}

/// Does not come back from a line until it is let go.
struct Computes(mpsc::Receiver<()>, mpsc::Sender<()>);

impl Protocol for Computes {
    fn room(&self, len: usize) -> usize {
        len
    }

    fn line(&mut self, _line: &[u8], _reply: &mut Reply<'_>) -> Next {
        let _ = self.1.send(());
        let _ = self.0.recv();
        Next::Line
    }
}

#[test]
fn a_protocol_that_computes_for_ever_does_not_hold_up_the_end() {
    let (let_go, wait) = mpsc::channel();
    let (began, begins) = mpsc::channel();
    let mut only = Some(Computes(wait, began));
    let settings = Settings { drain_ms: 100, ..Settings::default() };
    let server = Running::start(Options { settings, ..Options::default() }, move |_| only.take().unwrap());
    let mut client = server.connect();
    client.send("go\n");
    begins.recv_timeout(LONG).unwrap();
    server.stop.drain();
    let report = server.join();
    assert_eq!((report.counts.served, report.counts.open, report.at_once), (1, 1, false));
    let_go.send(()).unwrap();
    client.expect_gone();
}

#[test]
fn a_server_that_was_stopped_before_it_began_serves_nobody() {
    let listeners = evserver_threads::listen(&["127.0.0.1:0".parse().unwrap()], &Default::default()).unwrap();
    let stop = evserver_threads::StopHandle::new().unwrap();
    stop.drain();
    let options = Options { stop: Some(stop), ..Options::default() };
    let report = evserver_threads::serve(listeners, options, |_| NumberedEcho::new()).unwrap();
    assert_eq!(report.counts.served, 0);
}
