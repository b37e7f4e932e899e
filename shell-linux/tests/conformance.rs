//! The black-box suite against this shell's own binary: in both modes of epoll, and with several loops.

#![cfg(target_os = "linux")]

use evserver_conformance::{Command, Suite, Target, Traits, check};

const EVSERVER: &str = env!("CARGO_BIN_EXE_evserver");

#[test]
fn level_triggered() {
    check(Command::spawn(EVSERVER, &[]), &[]);
}

/// A change is reported once, so only a receive that would block says that there is no more: one more a reply.
#[test]
fn edge_triggered() {
    let traits = Traits { calls_a_reply: 3.1, ..Traits::default() };
    Suite::new(Target::Command(Command::spawn(EVSERVER, &["--edge-triggered"]))).traits(traits).check();
}

#[test]
fn several_loops() {
    const QUEUES: &str =
        "each loop has its own listen queue and descriptors, so clients are not served in one order";
    const WAKES: &str = "the loops wake each other with calls that are made to fail here";
    check(
        Command::spawn(EVSERVER, &["--threads", "2"]),
        &[
            ("limits::out_of_descriptors_is_no_spin", QUEUES),
            ("faults::interrupted_transfers_are_repeated", WAKES),
            ("faults::a_failed_transfer_ends_one_connection", WAKES),
            ("faults::a_connection_that_cannot_be_registered_is_dropped", WAKES),
            ("faults::a_listener_that_cannot_be_watched_again_is_not_deaf", QUEUES),
        ],
    );
}
