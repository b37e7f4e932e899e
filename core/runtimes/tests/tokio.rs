//! The black-box suite against the core on tokio.
#![cfg(unix)]

mod without;

use evserver_conformance::{Command, check};
use without::WITHOUT;

#[test]
fn conformance() {
    check(Command::spawn(env!("CARGO_BIN_EXE_evserver-tokio"), &[]), WITHOUT);
}
