//! What people type: nc and telnet against the real server, and Ctrl-C.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    port: String,
}

impl Server {
    fn start() -> Self {
        // Tests that a script runs behind `&` are started with SIGINT ignored, and so would their server be. GNU's env can
        // change that.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_evserver"), "--listen", "localhost:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().to_string();
        Self { child, output, port }
    }

    /// As Ctrl-C does; the report, and the exit code.
    fn interrupt(mut self) -> (String, Option<i32>) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest.lines().last().unwrap_or_default().to_string(), self.child.wait().unwrap().code())
    }
}

/// Says whether a client program is there; in CI it has to be.
fn have(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    if !found {
        assert!(std::env::var_os("CI").is_none(), "{program} is not installed");
        eprintln!("SKIPPED: {program} is not installed");
    }
    found
}

/// What a client program prints when it is given this input, whose end is the end of its input.
fn talk(program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = command.spawn().unwrap();
    client.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8(client.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn nc_says_quit_and_ctrl_c_ends_the_server() {
    if have("nc") {
        let server = Server::start();
        let said = talk("nc", &["localhost", &server.port], "a\nb\nquit\n");
        assert_eq!(said, "ready\n1: a\n2: b\nbye\n");
        assert_eq!(server.interrupt(), ("served 1 connections, peak concurrent 1".into(), Some(0)));
    }
}

#[test]
fn nc_ends_its_side_at_once() {
    if have("nc") {
        let server = Server::start();
        let said = talk("nc", &["-N", "localhost", &server.port], "a\nb\nc\ntail");
        assert_eq!(said, "ready\n1: a\n2: b\n3: c\n");
        assert_eq!(server.interrupt(), ("served 1 connections, peak concurrent 1".into(), Some(0)));
    }
}

/// telnet sends CR LF.
#[test]
fn telnet_is_understood() {
    if have("telnet") && have("expect") {
        let server = Server::start();
        let script = format!(
            "set timeout 20\nlog_user 0\nspawn telnet localhost {}\n\
             expect {{ready}} {{send \"hello\\r\"}} timeout {{exit 3}}\n\
             expect {{1: hello}} {{send \"quit\\r\"}} timeout {{exit 4}}\n\
             expect {{bye}} {{}} timeout {{exit 5}}\nexpect eof\nputs done\n",
            server.port
        );
        assert_eq!(talk("expect", &["-"], &script).trim(), "done");
        assert_eq!(server.interrupt().1, Some(0));
    }
}
