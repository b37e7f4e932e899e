//! The conformance suite against this shell's own binary.

use evserver_conformance::{Command, Suite, Target, Traits};

/// A poll, a receive and a send: a thread waits with poll(2), which can be told of a shutdown, and a receive cannot
/// without losing what rule 5 protects. The rest is a share of what else happens.
const CALLS_A_REPLY: f64 = 3.05;

/// What strace can do to a thread it does to each: a fault at the second transfer of a thread hits every connection,
/// and none is left that could be served as if nothing had been. `tests/program.rs` has its counterpart.
const EACH_THREAD: &str = "strace counts the calls of each thread for itself, so that no connection is spared";

#[test]
fn conformance() {
    Suite::new(Target::Command(Command::spawn(env!("CARGO_BIN_EXE_evserver-threads"), &[])))
        .traits(Traits { calls_a_reply: CALLS_A_REPLY, thread_a_connection: true, ..Traits::default() })
        .without(&[("faults::a_failed_transfer_ends_one_connection", EACH_THREAD)])
        .check();
}
