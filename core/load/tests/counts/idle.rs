//! What connections cost on which nothing happens.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use evserver_load::hold;
use evserver_load::progress::Progress;
use evserver_load::system::allow_connections;

use crate::evserver::{missing, start};

/// User memory of an idle connection at most.
const IDLE_BYTES: f64 = 192.0;

/// The server, the load and its sockets take some more descriptors.
const HELD: u64 = 10_000;

/// Nearly all that a process holds which may have 20,000 descriptors; other tests take the rest.
const MOST_HELD: u64 = 19_000;

/// The tests of this file share the descriptors of this process, and each takes many.
static MANY_DESCRIPTORS: Mutex<()> = Mutex::new(());

/// Connections without a wake-up.
const ASLEEP: usize = 1000;

/// For so long none may come. It is as well a limit that is in force for every one of them.
const ASLEEP_TIME: Duration = Duration::from_secs(3);

/// How long the server may take to fall asleep.
const SETTLE_MAX: Duration = Duration::from_secs(60);

#[test]
fn an_idle_connection_takes_few_bytes() {
    let Some(report) = hold(HELD) else { return };
    // Not the private pages: when another test's server ends, the program text that they shared becomes private here.
    let bytes = report.anonymous_bytes_per_connection.unwrap();
    // Less than a descriptor and a generation would mean that nothing was measured.
    assert!((8.0..=IDLE_BYTES).contains(&bytes), "{bytes} bytes a connection, at most {IDLE_BYTES} are right");
}

#[test]
fn one_process_holds_19_000_and_answers_each() {
    hold(MOST_HELD);
}

/// So many connections, each answered a line; none where there are not the descriptors.
fn hold(connections: u64) -> Option<hold::Report> {
    let _alone = MANY_DESCRIPTORS.lock();
    if let Err(why) = allow_connections(connections + 1) {
        missing(&why.to_string());
        return None;
    }
    let server = start(&[], &["--idle-timeout", "3600", "--backlog", "4096"]);
    let plan = hold::Plan { connections, probes: 1000, seed: 1, time: Duration::ZERO };
    let report = hold::run(&server.target, &plan, &mut Progress::silent()).unwrap();
    server.stop().unwrap();
    assert_eq!((report.connections, report.probed), (connections, 1000));
    Some(report)
}

#[test]
fn idle_connections_wake_nobody() {
    let _alone = MANY_DESCRIPTORS.lock();
    let server = start(&[], &["--idle-timeout", "3600", "--backlog", "4096"]);
    let mut clients: Vec<_> =
        (0..ASLEEP).map(|_| BufReader::new(TcpStream::connect(server.target.address).unwrap())).collect();
    for client in &mut clients {
        answered(client, "ready\n1: a\n");
    }
    let pid = server.target.pid.unwrap();
    let before = settled(pid);
    thread::sleep(ASLEEP_TIME);
    assert_eq!(wake_ups(pid), before, "wake-ups with {ASLEEP} idle connections");
    for client in &mut clients {
        answered(client, "2: a\n");
    }
    assert!(wake_ups(pid) > before, "what is counted does count");
}

/// Sends a line and takes what is due.
fn answered(client: &mut BufReader<TcpStream>, due: &str) {
    client.get_mut().write_all(b"a\n").unwrap();
    let mut came = String::new();
    for _ in due.lines() {
        client.read_line(&mut came).unwrap();
    }
    assert_eq!(came, due);
}

/// How often the process went to sleep and came back: voluntary context switches.
fn wake_ups(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    count.trim().parse().unwrap()
}

/// Waits until the process sleeps.
fn settled(pid: u32) -> u64 {
    let asked = Instant::now();
    let mut before = wake_ups(pid);
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = wake_ups(pid);
        if now == before && fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") S ") {
            return now;
        }
        assert!(asked.elapsed() < SETTLE_MAX, "the server does not fall asleep");
        before = now;
    }
}
