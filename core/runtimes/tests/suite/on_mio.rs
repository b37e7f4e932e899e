//! The black-box suite against the core on mio.

use crate::without::WITHOUT;
use evserver_conformance::{Command, Suite, Target, Traits};

/// mio reports changes, so only a receive that would block says that there is no more: one more a reply.
const CALLS_A_REPLY: f64 = 3.1;

#[test]
fn conformance() {
    let command = Command::spawn(env!("CARGO_BIN_EXE_evserver-mio"), &[]);
    let traits = Traits { calls_a_reply: CALLS_A_REPLY, ..Traits::default() };
    Suite::new(Target::Command(command)).traits(traits).without(WITHOUT).check();
}
