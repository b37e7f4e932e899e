//! The black-box suite against this shell's program.
#![cfg(kqueue)]

use evserver_conformance::{Command, Suite, Target, Traits};

#[test]
fn conformance() {
    // The emulation asks the kernel once more for each event: how much there is to read.
    let calls_a_reply = if cfg!(emulated) { 3.1 } else { 2.1 };
    let command = Command::spawn(env!("CARGO_BIN_EXE_evserver-bsd"), &[]);
    Suite::new(Target::Command(command)).traits(Traits { calls_a_reply, ..Traits::default() }).check();
}
