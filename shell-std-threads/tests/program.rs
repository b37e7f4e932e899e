//! The program's own options, and what happens when the system gives it no more threads.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_evserver-threads");

/// Nothing here takes so long unless it is broken.
const LONG: Duration = Duration::from_secs(60);

/// Starts the program by a command that ends in its name and options; gives its address.
fn start(command: &[&str]) -> (Child, String) {
    let mut child =
        Command::new(command[0]).args(&command[1..]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on ").unwrap_or_else(|| panic!("it said {line:?}"));
    (child, address.to_owned())
}

fn first_line(address: &str) -> (String, BufReader<TcpStream>) {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    (line, reader)
}

fn end(mut child: Child) -> (String, String) {
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let (mut output, mut errors) = (String::new(), String::new());
    child.stdout.as_mut().unwrap().read_to_string(&mut output).unwrap();
    child.stderr.as_mut().unwrap().read_to_string(&mut errors).unwrap();
    assert!(child.wait().unwrap().success(), "{output}{errors}");
    (output, errors)
}

/// The address space is limited, so that a few threads fit and no more.
#[test]
fn when_no_thread_can_be_started_only_the_new_client_is_refused() {
    const STACK: &str = "33554432";
    const SPACE: &str = "--as=800000000";
    if Command::new("prlimit").arg("--version").output().is_err() {
        println!("NOT TRIED: prlimit (package util-linux) is missing");
        return;
    }
    let (child, address) = start(&["prlimit", SPACE, PROGRAM, "--listen", "127.0.0.1:0", "--stack-size", STACK]);
    let mut served = Vec::new();
    let mut refused = 0;
    // More than fit, and more refused ones than may linger at a time.
    for _ in 0..150 {
        match first_line(&address) {
            (line, client) if line == "ready\n" => served.push(client),
            (line, mut client) => {
                assert_eq!(line, "server full\n");
                assert_eq!(client.read(&mut [0]).unwrap(), 0);
                refused += 1;
            }
        }
    }
    assert!(served.len() >= 2 && refused >= 70, "{} served, {refused} refused", served.len());
    for client in &mut served {
        client.get_mut().write_all(b"still\n").unwrap();
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        assert_eq!(line, "1: still\n");
    }
    // One that leaves makes room for another.
    let count = served.len();
    served.pop();
    let again = (0..LONG.as_millis()).find_map(|_| {
        let (line, client) = first_line(&address);
        if line != "ready\n" {
            std::thread::sleep(Duration::from_millis(1));
        }
        (line == "ready\n").then_some(client)
    });
    assert!(again.is_some(), "a client left, and nobody gets its place");
    drop((served, again));
    let (output, errors) = end(child);
    assert!(
        output.starts_with(&format!("served {} connections, peak concurrent {count}\n", count + 1)),
        "{output}"
    );
    assert_eq!(errors, "evserver: no more threads can be started; new clients are told that the server is full\n");
}

#[test]
fn a_stack_that_is_too_small_is_a_wrong_argument() {
    for (size, reason) in [
        ("1", "not in 65536.."),
        ("-1", "invalid digit"),
        ("99999999999", "not in 65536.."),
        ("x", "invalid digit"),
    ] {
        let output = Command::new(PROGRAM).args(["--stack-size", size]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--stack-size <BYTES>") && said.contains(reason), "{said}");
    }
}

#[test]
fn the_least_stack_is_enough() {
    let (child, address) = start(&[PROGRAM, "--listen", "127.0.0.1:0", "--stack-size", "65536"]);
    let (line, mut client) = first_line(&address);
    assert_eq!(line, "ready\n");
    client.get_mut().write_all(&[&[b'x'; 4095][..], b"\na\nquit\n"].concat()).unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert!(rest.starts_with(b"1: xxx") && rest.ends_with(b"xxx\n2: a\nbye\n") && rest.len() == 4099 + 5 + 4);
    drop(client);
    assert_eq!(end(child).0, "served 1 connections, peak concurrent 1\n");
}
