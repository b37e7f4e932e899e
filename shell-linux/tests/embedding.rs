//! The shell inside a program that has threads, handlers, children and descriptors of its own.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, kill_process, pidfd_getfd, pidfd_open};

/// Only what never happens takes so long.
const LIMIT: Duration = Duration::from_secs(30);

struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Program {
    fn start(program: &str, arguments: &[&str]) -> Self {
        // As in `clients.rs`: behind a script's `&` SIGINT is ignored, by its children too.
        let mut command = Command::new("env");
        let command = command.args(["--default-signal=INT", program]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().parse().unwrap();
        Self { child, output, address }
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut client = BufReader::new(stream);
        assert_eq!(read_line(&mut client), "ready\n");
        client
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The rest of its output, and how it ended.
    fn finish(mut self) -> (String, std::process::ExitStatus) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap())
    }

    /// The times that a thread of it went to sleep: one for each wake-up that brought work, or nothing.
    fn sleeps(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        field(&status, "voluntary_ctxt_switches").parse().unwrap()
    }
}

fn embedder(arguments: &[&str]) -> Program {
    Program::start(env!("CARGO_BIN_EXE_embedder"), arguments)
}

fn read_line(client: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    client.read_line(&mut line).unwrap();
    line
}

fn ask(client: &mut BufReader<TcpStream>, line: &str) -> String {
    client.get_mut().write_all(line.as_bytes()).unwrap();
    read_line(client)
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).trim()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < LIMIT, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A handler in whichever of five threads the signal hits: always an orderly end, never death by the signal.
#[test]
fn a_stop_handle_works_from_a_signal_handler_of_a_program_with_threads() {
    for round in 0..50 {
        let program = embedder(&["--handler"]);
        let mut client = program.connect();
        kill_process(program.pid(), Signal::TERM).unwrap();
        let mut rest = String::new();
        client.read_to_string(&mut rest).unwrap();
        drop(client);
        let (said, status) = program.finish();
        assert_eq!(status.code(), Some(0), "round {round}: {status}");
        assert!(said.starts_with("served 1 connections, peak concurrent 1\n"), "round {round}: {said}");
    }
}

#[test]
fn the_mask_of_before_comes_back_when_the_server_ends() {
    let program = embedder(&[]);
    kill_process(program.pid(), Signal::TERM).unwrap();
    let (said, status) = program.finish();
    assert!(status.success(), "{status}");
    assert!(said.ends_with("blocked []\n"), "{said}");
}

/// A child of a server whose signals are blocked can be terminated all the same.
#[test]
fn children_start_with_a_clean_mask_and_default_actions() {
    let program = embedder(&[]);
    let mut client = program.connect();
    let pid: i32 = ask(&mut client, "child\n").trim().parse().unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    let status_file = format!("/proc/{}/status", pid.as_raw_nonzero());
    let is_sleep = || fs::read_to_string(&status_file).is_ok_and(|status| field(&status, "Name") == "sleep");
    wait_until("the child's exec", is_sleep);
    let status = fs::read_to_string(&status_file).unwrap();
    for set in ["SigBlk", "SigIgn"] {
        // Bit n-1 is signal n; those from 32 on are the C library's own, or somebody else's.
        let signals = u64::from_str_radix(field(&status, set), 16).unwrap() & 0x7fff_ffff;
        assert_eq!(signals, 0, "{set} of a child: {signals:#x}");
    }
    kill_process(pid, Signal::TERM).unwrap();
    // Its parent does not wait for it, so what stays is a zombie.
    wait_until("the child's end", || {
        fs::read_to_string(&status_file).is_ok_and(|status| field(&status, "State").starts_with('Z'))
    });
    kill_process(program.pid(), Signal::TERM).unwrap();
    drop(client);
    assert!(program.finish().1.success());
}

#[test]
fn a_protocol_that_panics_loses_its_own_connection_only() {
    let program = embedder(&[]);
    let mut other = program.connect();
    for _ in 0..3 {
        let mut client = program.connect();
        client.get_mut().write_all(b"panic\n").unwrap();
        assert_eq!(client.read_to_end(&mut Vec::new()).unwrap_or(0), 0);
    }
    assert_eq!(ask(&mut other, "still there?\n"), "?\n");
    kill_process(program.pid(), Signal::TERM).unwrap();
    drop(other);
    let (said, status) = program.finish();
    assert!(status.success(), "{status}");
    assert!(said.contains("\nprotocol panics 3\n"), "{said}");
}

/// A duplicate of a client's descriptor in another process keeps the socket alive after the server has closed its own:
/// no event of it may wake the server (rule 11).
#[test]
fn a_duplicate_elsewhere_wakes_nobody_after_the_close() {
    for mode in [&[][..], &["--edge-triggered"]] {
        let arguments = [&["--listen", "127.0.0.1:0"], mode].concat();
        let program = Program::start(env!("CARGO_BIN_EXE_evserver"), &arguments);
        // With one client served, the server has opened everything that is its own.
        let _first = program.connect();
        let before = sockets_of(&program);
        let mut client = program.connect();
        let pidfd = pidfd_open(program.pid(), PidfdFlags::empty()).unwrap();
        let fresh = sockets_of(&program).into_iter().find(|fd| !before.contains(fd)).unwrap();
        let duplicate = match pidfd_getfd(&pidfd, fresh, PidfdGetfdFlags::empty()) {
            Ok(duplicate) => duplicate,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "pidfd_getfd: {error}");
                eprintln!("SKIPPED: no duplicate of another process's descriptor is to be had: {error}");
                return;
            }
        };
        assert_eq!(ask(&mut client, "quit\n"), "bye\n");
        client.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
        wait_until("the close", || !sockets_of(&program).contains(&fresh));
        // Its end of the socket lives, so these arrive and would be events.
        let sleeps = program.sleeps();
        for _ in 0..20 {
            let _ = client.get_mut().write_all(b"x\n");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(client);
        std::thread::sleep(Duration::from_millis(50));
        assert!(program.sleeps() <= sleeps + 1, "{} wake-ups by a closed connection", program.sleeps() - sleeps);
        drop(duplicate);
        kill_process(program.pid(), Signal::TERM).unwrap();
        let (_, status) = program.finish();
        assert_eq!((status.code(), status.signal()), (Some(0), None));
    }
}

/// The numbers of the sockets that a program has open.
fn sockets_of(program: &Program) -> Vec<i32> {
    let folder = format!("/proc/{}/fd", program.child.id());
    let is_socket =
        |path: &PathBuf| fs::read_link(path).is_ok_and(|link| link.to_string_lossy().starts_with("socket:"));
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(is_socket);
    paths.filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect()
}
