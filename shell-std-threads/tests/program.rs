//! The program: its own option, what happens when the system gives it no more threads, and faults of system calls that
//! the conformance suite cannot place in a server of threads.
#![cfg(target_os = "linux")]

mod support;

use std::time::{Duration, Instant};

use evserver_conformance::process::{Launch, Server, Signal};
use evserver_conformance::{DEADLINE, NotPassed};
use support::{Client, wait_until};

const PROGRAM: &str = env!("CARGO_BIN_EXE_evserver-threads");

fn launch(options: &[&str]) -> Launch {
    let words = [&[PROGRAM, "--listen", "127.0.0.1:0"], options].concat();
    Launch::new(words.into_iter().map(str::to_owned).collect())
}

/// Runs a test; one that cannot be tried here says why.
fn check(test: impl FnOnce() -> Result<(), NotPassed>) {
    match test() {
        Ok(()) => {}
        Err(NotPassed::Skipped { why, .. }) => println!("NOT TRIED: {why}"),
        Err(NotPassed::Failed(text)) => panic!("{text}"),
    }
}

/// Ends the server; gives the first line of its report.
fn end(mut server: Server) -> Result<String, NotPassed> {
    server.signal(Signal::Terminate)?;
    assert!(server.wait_exit(DEADLINE)?.success(), "{}", server.said());
    let said = server.output().lines();
    Ok(said.into_iter().find(|line| line.starts_with("served")).expect("there is no report"))
}

/// The address space is limited, so that a few threads fit and no more.
#[test]
fn when_no_thread_can_be_started_only_the_new_client_is_refused() {
    check(|| {
        // Large stacks, so that the rest of the process is small beside them.
        let server = launch(&["--stack-size", "33554432"]).under(&["prlimit", "--as=800000000"])?.start()?;
        let (mut served, mut refused) = (Vec::new(), 0);
        // More than fit, and more refused ones than may linger at a time.
        for _ in 0..150 {
            let mut client = Client::connect(server.address());
            if client.line() == "ready\n" {
                served.push(client);
            } else {
                client.expect_end();
                refused += 1;
            }
        }
        assert!(served.len() >= 2 && refused >= 70, "{} served, {refused} refused", served.len());
        for client in &mut served {
            client.send("still\n");
            client.expect("1: still\n");
        }
        // One that leaves makes room for another.
        let count = served.len();
        served.pop();
        wait_until(|| {
            served.push(Client::connect(server.address()));
            let is_served = served.last_mut().is_some_and(|client| client.line() == "ready\n");
            if !is_served {
                served.pop();
            }
            is_served
        });
        drop(served);
        let said = server.errors().text();
        assert_eq!(
            said,
            "evserver-threads: no more threads can be started; new clients are told that the server is full\n"
        );
        assert_eq!(end(server)?, format!("served {} connections, peak concurrent {count}", count + 1));
        Ok(())
    });
}

#[test]
fn a_stack_of_a_wrong_size_is_a_wrong_argument() {
    for (size, reason) in [
        ("1", "not in 65536.."),
        ("-1", "invalid digit"),
        ("99999999999", "not in 65536.."),
        ("x", "invalid digit"),
    ] {
        let output = std::process::Command::new(PROGRAM).args(["--stack-size", size]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--stack-size <BYTES>") && said.contains(reason), "{said}");
    }
}

#[test]
fn the_least_stack_is_enough() {
    check(|| {
        let server = launch(&["--stack-size", "65536"]).start()?;
        let mut client = Client::connect(server.address());
        client.send([&[b'x'; 4095][..], b"\na\nquit\n"].concat());
        client.expect(&format!("ready\n1: {}\n2: a\nbye\n", "x".repeat(4095)));
        client.expect_end();
        drop(client);
        assert_eq!(end(server)?, "served 1 connections, peak concurrent 1");
        Ok(())
    });
}

/// Every second wait is interrupted: none ends too early, none is lost.
#[test]
fn an_interrupted_wait_is_no_error() {
    const IDLE: Duration = Duration::from_millis(500);
    check(|| {
        let server =
            launch(&["--idle-timeout", "0.5"]).inject(&["poll", "ppoll"], "error=EINTR:when=1+2")?.start()?;
        for _ in 0..3 {
            let mut client = Client::connect(server.address());
            client.expect("ready\n");
            let mut last = Instant::now();
            for number in 1..=20 {
                last = Instant::now();
                client.send("a\n");
                client.expect(&format!("{number}: a\n"));
            }
            client.expect_gone();
            assert!(last.elapsed() >= IDLE);
        }
        assert!(server.trace()?.injected()? > 40);
        assert_eq!(end(server)?, "served 3 connections, peak concurrent 1");
        Ok(())
    });
}

/// strace counts the calls of each thread by itself, so each connection is lost with its second transfer, and only then.
#[test]
fn a_transfer_that_fails_ends_its_own_connection() {
    check(|| {
        for (call, error) in [("recvfrom", "ECONNRESET"), ("recvfrom", "ETIMEDOUT"), ("sendto", "EPIPE")] {
            let mut server = launch(&[]).inject(&[call], &format!("error={error}:when=2"))?.start()?;
            let mut first = Client::connect(server.address());
            first.expect("ready\n");
            // Everything is open that a server has; and this client's socket.
            let before = server.usage()?.descriptors - 1;
            drop(first);
            let mut clients: Vec<_> = (0..5).map(|_| Client::connect(server.address())).collect();
            clients.iter_mut().for_each(|client| client.expect("ready\n"));
            for client in &mut clients {
                client.send("a\n");
                if call == "recvfrom" {
                    client.expect("1: a\n");
                    client.send("b\n");
                }
                client.expect_gone();
            }
            drop(clients);
            wait_until(|| server.usage().is_ok_and(|usage| usage.descriptors <= before));
            server.ensure_alive()?;
            Client::connect(server.address()).expect("ready\n");
        }
        Ok(())
    });
}
