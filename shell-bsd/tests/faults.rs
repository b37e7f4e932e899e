//! Faults that only this shell meets, made by strace in the system calls under the emulation.
#![cfg(emulated)]

use std::time::Duration;

use evserver_conformance::process::{Launch, Server};
use evserver_conformance::{Client, DEADLINE, GREETING, NotPassed, Outcome, ensure};

const ACCEPTED_FLAGS: &[&str] = &["fcntl"];
const CHANGES: &[&str] = &["epoll_ctl"];

fn launch() -> Launch {
    let words = [env!("CARGO_BIN_EXE_evserver-bsd"), "--listen", "127.0.0.1:0"];
    Launch::new(words.map(str::to_string).into())
}

/// A fault may not be possible here (strace is missing), but then it is said.
fn check(outcome: Outcome) {
    match outcome {
        Ok(()) => {}
        Err(NotPassed::Skipped { why, .. }) => eprintln!("NOT TRIED: {why}"),
        Err(NotPassed::Failed(text)) => panic!("{text}"),
    }
}

/// How often a server makes a call before it has a client.
fn at_the_start(call: &str) -> Result<usize, NotPassed> {
    let server = launch().traced(&[])?.start()?;
    let trace = server.trace()?;
    trace.mark()?;
    Ok(trace.calls_since(0)?.iter().filter(|made| made.name == call).count())
}

/// A new client is served, and the fault has happened.
fn serves_others(server: &mut Server) -> Outcome {
    server.ensure_alive()?;
    let mut other = Client::greeted(server.address())?;
    other.exchange(b"abc\nquit\n", b"1: abc\nbye\n")?;
    other.expect_end()?;
    let injected = server.trace()?.injected()?;
    ensure!(injected == 1, "one call was to fail, {injected} did");
    Ok(())
}

/// macOS answers EINVAL for a connection that died in the listen queue.
#[test]
fn a_client_whose_flags_cannot_be_set_is_dropped_alone() {
    check((|| {
        let before = at_the_start("fcntl")?;
        for nth in [1, 2] {
            let when = format!("error=EINVAL:when={}", before + nth);
            let mut server = launch().inject(ACCEPTED_FLAGS, &when)?.start()?;
            let mut client = Client::connect(server.address())?;
            client.expect_gone(DEADLINE)?;
            ensure!(client.came_bytes() == 0, "the client was greeted");
            serves_others(&mut server)?;
        }
        Ok(())
    })());
}

/// What it is to be watched for cannot be told: it would never hear of it again.
#[test]
fn a_client_that_cannot_be_watched_is_dropped_alone() {
    /// What the kernel's buffers may take before the client is held back.
    const KERNEL_BYTES: usize = 64 << 20;
    check((|| {
        let before = at_the_start("epoll_ctl")?;
        // It is registered for reading, and once it does not read that is removed and it is registered for writing.
        for nth in [1, 3] {
            let when = format!("error=ENOMEM:when={}", before + nth);
            let mut server = launch().inject(CHANGES, &when)?.start()?;
            let mut client = Client::connect_small(server.address(), 4096)?;
            client.expect(GREETING)?;
            if nth > 1 {
                // It may be gone before it has sent all this.
                let _ = client.flood(b"abc\n", Duration::from_millis(200), KERNEL_BYTES);
            }
            client.expect_gone(DEADLINE)?;
            drop(client);
            serves_others(&mut server)?;
        }
        Ok(())
    })());
}
