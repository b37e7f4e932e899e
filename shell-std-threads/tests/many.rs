//! Five thousand connections to the real binary: all are served at a time, and all get a proper end.
#![cfg(unix)]

mod support;

use std::time::Duration;

use evserver_conformance::NotPassed;
use evserver_conformance::process::{Launch, Signal};
use evserver_hosted::raise_descriptor_limit;
use support::Client;

const CONNECTIONS: u64 = 5_000;

/// Descriptors beside those of the connections, here and there.
const BESIDE: u64 = 100;

/// For the whole of the drain; a busy machine has five thousand threads to run.
const END: Duration = Duration::from_secs(120);

#[test]
fn five_thousand_are_served_at_a_time() -> Result<(), NotPassed> {
    let allowed = raise_descriptor_limit().unwrap_or(u64::MAX).saturating_sub(BESIDE);
    let connections = CONNECTIONS.min(allowed);
    if connections < CONNECTIONS {
        println!("only {connections} connections fit into the limit of descriptors here");
    }
    let words = [env!("CARGO_BIN_EXE_evserver-threads"), "--listen", "127.0.0.1:0", "--drain-timeout", "100"];
    let mut server = Launch::new(words.map(str::to_owned).into()).start()?;
    let mut clients: Vec<_> = (0..connections).map(|_| Client::connect(server.address())).collect();
    for client in &mut clients {
        client.expect("ready\n");
    }
    for round in 1..=2 {
        for client in &mut clients {
            client.send("hello\n");
        }
        for client in &mut clients {
            client.expect(&format!("{round}: hello\n"));
        }
    }
    server.signal(Signal::Terminate)?;
    for mut client in clients {
        client.expect_end();
    }
    assert!(server.wait_exit(END)?.success(), "{}", server.said());
    let report = format!("served {connections} connections, peak concurrent {connections}\n");
    assert!(server.output().text().ends_with(&report), "{}", server.said());
    Ok(())
}
