//! The black-box suite against the core on tokio.

use crate::without::WITHOUT;
use evserver_conformance::{Command, check};

#[test]
fn conformance() {
    check(Command::spawn(env!("CARGO_BIN_EXE_evserver-tokio"), &[]), WITHOUT);
}
