//! The shells as libraries, called in ways that nobody should rely on.

mod tools;

use std::sync::mpsc;
use std::thread;

use evserver_core::NumberedEcho;
use evserver_examples::shells::serve;
use evserver_hosted::{ListenOptions, StopHandle, listen};

use tools::{FOREVER, Lines, SETTINGS, shells};

const CLIENTS: u64 = 16;

/// An accept that waits would hold up everybody else.
#[test]
fn a_listener_that_blocks_is_made_not_to() {
    for (&shell, loops) in shells().iter().flat_map(|shell| [(shell, 1), (shell, 2)]) {
        let options = ListenOptions { blocking: true, reuse_port: true, ..ListenOptions::default() };
        let listeners = listen(&["127.0.0.1:0".parse().unwrap()], &options).unwrap();
        let address = listeners[0].address;
        let stop = StopHandle::new().unwrap();
        let (ended, end) = mpsc::channel();
        let theirs = stop.clone();
        thread::spawn(move || {
            ended.send(serve(shell, loops, listeners, SETTINGS, theirs, |_| NumberedEcho::new()).unwrap())
        });
        // As many as make it likely that each loop has one.
        for _ in 0..CLIENTS {
            let mut client = Lines::connect(address);
            client.expect("ready");
            client.say("a\n");
            client.expect("1: a");
        }
        stop.drain();
        let report = end.recv_timeout(FOREVER).unwrap_or_else(|_| panic!("{shell:?} does not end"));
        assert_eq!(report.counts.served, CLIENTS, "{shell:?}");
    }
}

/// Two servers in one program, at the same time and one after the other, know nothing of each other.
#[test]
fn servers_in_one_program_are_apart() {
    for &shell in shells() {
        tools::serving(
            shell,
            2,
            |_| NumberedEcho::new(),
            |one| {
                for _ in 0..2 {
                    let report = tools::serving(
                        shell,
                        1,
                        |_| NumberedEcho::new(),
                        |other| {
                            let mut clients = [Lines::connect(one), Lines::connect(other)];
                            for client in &mut clients {
                                client.expect("ready");
                                client.say("a\n");
                                client.expect("1: a");
                            }
                        },
                    );
                    assert_eq!(report.counts.served, 1, "{shell:?}");
                }
            },
        );
    }
}
