//! System calls, as strace shows them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use evserver_load::process::descriptors;

use crate::common::{run, small};
use crate::evserver::{has, start};

/// How long the server may take to close, and strace to write the last lines.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A whole connection: greeting, one line, `quit`, the client's end. The README gives the reason for each.
const SHORT_CONNECTION: [&str; 16] = [
    "epoll_wait",
    "accept4",
    "sendto",
    "epoll_ctl ADD",
    "accept4 EAGAIN",
    "epoll_wait",
    "recvfrom",
    "sendto",
    "epoll_wait",
    "recvfrom",
    "sendto",
    "shutdown",
    "epoll_wait",
    "recvfrom",
    "epoll_ctl DEL",
    "close",
];

/// The timer is set once in seconds, which makes that connection's list longer; so one of several must have this list,
/// and none a shorter one.
const CONNECTIONS: usize = 10;

/// Where strace writes to; removed with this value.
struct Log(PathBuf);

impl Log {
    fn new(name: &str) -> Self {
        Log(std::env::temp_dir().join(format!("evserver-counts-{name}-{}.strace", std::process::id())))
    }

    /// strace is beside the server and not above it, so that the process that is started is the server itself.
    fn strace(&self) -> Vec<&str> {
        ["strace", "-D", "-f", "-q", "-o", self.0.to_str().unwrap()].to_vec()
    }

    /// Once the server has ended.
    fn calls(&self) -> Vec<String> {
        let asked = Instant::now();
        loop {
            let text = fs::read_to_string(&self.0).unwrap();
            if text.ends_with(" +++\n") {
                return text.lines().filter_map(call).collect();
            }
            assert!(asked.elapsed() < WAIT_MAX, "strace wrote no end of the server");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // A temporary file that cannot be removed is no reason to fail.
        let _ = fs::remove_file(&self.0);
    }
}

/// The call's name, what epoll_ctl does, and why an accept failed: `12  name(arguments) = result`.
fn call(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(' ')?.1.trim_start().split_once('(')?;
    let more = match name {
        "epoll_ctl" => rest.split(", ").nth(1)?.strip_prefix("EPOLL_CTL_")?,
        "accept4" if rest.contains("EAGAIN") => "EAGAIN",
        _ => "",
    };
    Some(format!("{name} {more}").trim_end().to_string())
}

fn short_connection(address: SocketAddr, pid: u32) {
    let mut lines = BufReader::new(TcpStream::connect(address).unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    lines.get_mut().write_all(b"hello\n").unwrap();
    lines.read_line(&mut line).unwrap();
    let while_open = descriptors(pid).unwrap();
    lines.get_mut().write_all(b"quit\n").unwrap();
    lines.read_to_string(&mut line).unwrap();
    assert_eq!(line, "ready\n1: hello\nbye\n");
    drop(lines);
    // Or one wait could tell of the end of this one and the begin of the next.
    let asked = Instant::now();
    while descriptors(pid).unwrap() >= while_open {
        assert!(asked.elapsed() < WAIT_MAX, "the server does not close");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_short_connection_takes_exactly_these_calls() {
    if !has("strace") {
        return;
    }
    let log = Log::new("short");
    let server = start(&log.strace(), &[]);
    let pid = server.target.pid.unwrap();
    for _ in 0..CONNECTIONS {
        short_connection(server.target.address, pid);
    }
    server.stop().unwrap();
    let calls = log.calls();
    assert_eq!(calls.iter().filter(|call| *call == "accept4").count(), CONNECTIONS, "{calls:#?}");
    // From the wait that told of the client to its close; that wait may have told of the timer too.
    let begins = (1..calls.len()).filter(|&at| calls[at] == "accept4" && calls[at - 1] == "epoll_wait");
    let lists = begins.map(|begin| {
        let list = &calls[begin - 1..];
        let end = list.iter().position(|call| call == "close").unwrap();
        &list[..=end]
    });
    let shortest = lists.min_by_key(|list| list.len()).unwrap();
    assert_eq!(shortest, SHORT_CONNECTION);
}

/// How many calls a reply takes is a case of the conformance suite, which every shell must pass.
#[test]
fn interest_is_told_at_the_begin_and_the_end_only() {
    if !has("strace") {
        return;
    }
    let log = Log::new("interest");
    let server = start(&log.strace(), &[]);
    let mut plan = small(64, 1);
    plan.in_step = true;
    let report = run(&server.target, &plan);
    server.stop().unwrap();
    let calls = log.calls();
    let count = |name: &str| calls.iter().filter(|call| *call == name).count() as u64;
    assert_eq!(count("epoll_ctl MOD"), 0);
    assert_eq!(count("recvfrom"), report.replies_whole_run + 64, "one for each line, one for each end");
    assert_eq!(count("sendto"), report.replies_whole_run + 64, "one for each line, one for each greeting");
    let (added, removed) = (count("epoll_ctl ADD"), count("epoll_ctl DEL"));
    // The clients, and what else the loop watches: listener, timer, signals, wake-up.
    assert!((64..=64 + 8).contains(&added), "{added}");
    assert!((64..=added).contains(&removed), "{removed}");
}
