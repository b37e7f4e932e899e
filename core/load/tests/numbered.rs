//! Every kind of load on servers of the numbered echo, right and wrong ones.
#![cfg(target_os = "linux")]
// Each server brings its own copy of what they have in common, as it is a program of its own.
#![allow(clippy::duplicate_mod)]

mod common;

#[allow(dead_code)]
#[path = "../examples/tokio_lines.rs"]
mod tokio_lines;
#[allow(dead_code)]
#[path = "../examples/tokio_shared.rs"]
mod tokio_shared;

use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use common::{FAULTY, Fault, exchange, numbered, run, small};
use evserver_load::failure::Failure;
use evserver_load::lines::Alphabet;
use evserver_load::progress::Progress;
use evserver_load::script::Mode;
use evserver_load::target::Target;
use evserver_load::{churn, hold, quiet, steady};

fn steady_failure(fault: Fault) -> Failure {
    steady::run(&numbered(fault), &small(3, 2), &mut Progress::silent()).unwrap_err()
}

fn hold_failure(fault: Fault) -> Failure {
    let plan = hold::Plan { connections: 20, probes: 20, seed: 1, time: Duration::ZERO };
    hold::run(&numbered(fault), &plan, &mut Progress::silent()).unwrap_err()
}

fn quiet_failure(fault: Fault) -> Failure {
    let plan = quiet::Plan { flooders: 2, time: Duration::from_secs(1), warm_up: Duration::ZERO };
    quiet::run(&numbered(fault), &plan, &mut Progress::silent()).unwrap_err()
}

fn short(connections: u64, end: churn::End) -> churn::Plan {
    churn::Plan { connections, concurrency: 8, end }
}

/// Every kind of load, small.
fn accept_all(target: &Target) {
    let report = run(target, &small(8, 4));
    assert!(report.replies >= 2000);
    assert_eq!(report.replies_whole_run % 4, 0, "whole batches: {report:?}");
    let mut long = target.clone();
    long.line_bytes = 4095;
    run(&long, &small(4, 8));
    let mut empty = target.clone();
    empty.line_bytes = 0;
    run(&empty, &small(4, 8));
    let mut plan = small(8, 1);
    (plan.in_step, plan.idle) = (true, 50);
    run(target, &plan);

    let plan = hold::Plan { connections: 100, probes: 1000, seed: 1, time: Duration::ZERO };
    let report = hold::run(target, &plan, &mut Progress::silent()).unwrap();
    assert_eq!(report.probed, 100, "no more than there are");
    for end in [churn::End::Quit, churn::End::HalfClose] {
        let report = churn::run(target, &short(100, end), &mut Progress::silent()).unwrap();
        assert_eq!(report.latency_us.count, 100);
    }
    let plan = quiet::Plan { flooders: 2, time: Duration::from_millis(200), warm_up: Duration::ZERO };
    let report = quiet::run(target, &plan, &mut Progress::silent()).unwrap();
    assert!(report.latency_us.count > 0);
}

#[test]
fn a_right_server_passes_every_load() {
    let mut target = numbered(Fault::None);
    target.alphabet = Alphabet::Binary;
    accept_all(&target);
}

/// The address of a server on a runtime of its own thread.
fn tokio_server<F>(serve: impl FnOnce(tokio::net::TcpListener) -> F + Send + 'static) -> Target
where
    F: Future<Output = std::io::Result<()>>,
{
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async { serve(tokio::net::TcpListener::from_std(listener).unwrap()).await })
    });
    let mut target = Target::new(address, Mode::Numbered);
    target.patience = Duration::from_secs(60);
    target
}

#[test]
fn the_tokio_servers_pass_every_load() {
    for target in [tokio_server(tokio_lines::serve_all), tokio_server(tokio_shared::serve_all)] {
        accept_all(&target);
        assert_eq!(exchange(target.address, b"a\r\nquit\nb\n"), b"ready\n1: a\nbye\n");
        let long = [&[b'x'; 4095][..], b"\n", &[b'x'; 4096][..]].concat();
        let replies = [b"ready\n1: ", &long[..4096], b"line too long\n"].concat();
        assert_eq!(exchange(target.address, &long).escape_ascii().to_string(), replies.escape_ascii().to_string());
    }
}

#[test]
fn every_wrong_reply_is_found_and_placed() {
    let faults = [
        Fault::WrongByte,
        Fault::WrongNumber,
        Fault::MissingReply,
        Fault::AnotherConnectionsReply,
        Fault::CarriageReturn,
    ];
    for fault in faults {
        match steady_failure(fault) {
            Failure::Wrong { reply: FAULTY, .. } => {}
            other => panic!("{fault:?}: {other}"),
        }
        match quiet_failure(fault) {
            Failure::Wrong { reply: FAULTY, .. } => {}
            other => panic!("{fault:?}: {other}"),
        }
    }
}

#[test]
fn a_doubled_reply_is_found_whether_or_not_another_is_due() {
    // With two lines in flight the double of reply 3 comes in the place of reply 4.
    let failure = steady_failure(Fault::DoubledReply);
    assert!(matches!(failure, Failure::Wrong { reply: 4, .. }), "{failure}");
    let failure = steady::run(&numbered(Fault::DoubledReply), &small(3, 1), &mut Progress::silent()).unwrap_err();
    let found = matches!(failure, Failure::Unasked { .. } | Failure::Wrong { reply: 4, .. });
    assert!(found, "{failure}");
}

#[test]
fn numbers_that_connections_share_are_found() {
    let failure = steady_failure(Fault::NumbersSharedByConnections);
    assert!(matches!(failure, Failure::Wrong { .. }), "{failure}");
    let failure = hold_failure(Fault::NumbersSharedByConnections);
    assert!(matches!(failure, Failure::Wrong { reply: 1, .. }), "{failure}");
}

#[test]
fn a_wrong_greeting_is_found_by_every_load() {
    for fault in [Fault::WrongGreeting, Fault::RefusesAll] {
        let churned = churn::run(&numbered(fault), &short(10, churn::End::Quit), &mut Progress::silent());
        for failure in [steady_failure(fault), hold_failure(fault), quiet_failure(fault), churned.unwrap_err()] {
            assert!(matches!(failure, Failure::Wrong { reply: 0, .. }), "{fault:?}: {failure}");
        }
    }
    let text = steady_failure(Fault::RefusesAll).to_string();
    assert!(text.contains(r#"came "server full\n""#), "{text}");
}

#[test]
fn an_early_end_is_found() {
    let failure = steady::run(&numbered(Fault::EndsEarly), &small(3, 1), &mut Progress::silent()).unwrap_err();
    assert!(matches!(failure, Failure::Closed { answered: 2, .. }), "{failure}");
}

#[test]
fn silence_ends_as_a_stall() {
    let mut target = numbered(Fault::FallsSilent);
    target.patience = Duration::from_secs(4);
    let failure = steady::run(&target, &small(3, 1), &mut Progress::silent()).unwrap_err();
    assert!(matches!(failure, Failure::Stalled { .. }), "{failure}");
    assert!(failure.to_string().contains("3 lines in flight are not answered"), "{failure}");
}

#[test]
fn bytes_to_an_idle_client_are_found() {
    let failure = steady_failure(Fault::TalksToIdleClients);
    // They come with the greeting, or after it: as bytes or as an event that nobody waits for.
    let found = matches!(failure, Failure::Unasked { .. } | Failure::Refused(_) | Failure::Wrong { reply: 1, .. });
    assert!(found, "{failure}");
}

#[test]
fn a_wrong_or_missing_farewell_is_found() {
    let churned = |fault| churn::run(&numbered(fault), &short(10, churn::End::Quit), &mut Progress::silent());
    let failure = churned(Fault::WrongFarewell).unwrap_err();
    assert!(matches!(failure, Failure::Wrong { reply: 2, .. }), "{failure}");
    let failure = churned(Fault::NoFarewell).unwrap_err();
    assert!(matches!(failure, Failure::Closed { answered: 1, .. }), "{failure}");
}

#[test]
fn an_echo_is_not_the_numbered_echo() {
    let mut target = numbered(Fault::None);
    (target.mode, target.greeting) = (Mode::Echo, true);
    let failure = steady::run(&target, &small(1, 1), &mut Progress::silent()).unwrap_err();
    assert!(matches!(failure, Failure::Wrong { reply: 1, .. }), "{failure}");
}
