//! The black-box suite against this shell's own binary, in both modes of epoll.

use evserver_conformance::{Command, check};

const EVSERVER: &str = env!("CARGO_BIN_EXE_evserver");

#[test]
fn level_triggered() {
    check(Command::spawn(EVSERVER, &[]), &[]);
}

#[test]
fn edge_triggered() {
    check(Command::spawn(EVSERVER, &["--edge-triggered"]), &[]);
}
