//! Every kind of load on the yardstick, with epoll and with poll.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use common::{Yardstick, exchange, run, small};
use evserver_load::lines::Alphabet;
use evserver_load::progress::Progress;
use evserver_load::{churn, hold, quiet};

const LOOPS: [&[&str]; 2] = [&[], &["--poll"]];

#[test]
fn a_steady_load_is_counted_and_timed() {
    for arguments in LOOPS {
        let yardstick = Yardstick::start(arguments);
        let report = run(&yardstick.target, &small(8, 4));
        assert!((2000..2000 + 8 * 4).contains(&report.replies), "{report:?}");
        // The opening's line on each, what was in flight at the end, and nothing else.
        assert!(report.replies_whole_run >= report.replies + 8);
        assert!(report.replies_whole_run <= report.replies + 8 + 2 * 8 * 4, "{report:?}");
        assert_eq!(report.latency_us.count, report.replies);
        assert!(report.server_cpu_ns_per_reply.unwrap() > 0.0);
        assert!(report.latency_us.p50 > 0.0 && report.latency_us.p50 <= report.latency_us.max);
    }
}

#[test]
fn long_deep_and_binary_lines_come_back() {
    for arguments in LOOPS {
        let mut yardstick = Yardstick::start(arguments);
        yardstick.target.line_bytes = 4095;
        yardstick.target.alphabet = Alphabet::Binary;
        let report = run(&yardstick.target, &small(4, 64));
        assert!(report.replies >= 2000);
    }
}

#[test]
fn in_step_all_send_the_same_number_of_lines() {
    for arguments in LOOPS {
        let yardstick = Yardstick::start(arguments);
        let mut plan = small(16, 2);
        plan.in_step = true;
        let report = run(&yardstick.target, &plan);
        assert_eq!((report.replies_whole_run - 16) % (16 * 2), 0, "{report:?}");
    }
}

#[test]
fn idle_connections_stay_beside_a_load() {
    for arguments in LOOPS {
        let yardstick = Yardstick::start(arguments);
        let mut plan = small(4, 1);
        plan.idle = 300;
        let report = run(&yardstick.target, &plan);
        // With a server that does not greet, each is opened with a line.
        assert!(report.replies_whole_run >= report.replies + 304);
    }
}

#[test]
fn without_a_process_there_are_no_figures_of_it() {
    let mut yardstick = Yardstick::start(&[]);
    yardstick.target.pid = None;
    let report = run(&yardstick.target, &small(2, 1));
    assert_eq!((report.server_cpu_ns_per_reply, report.shares.server_cpu_share), (None, None));
}

#[test]
fn a_chosen_source_address_is_used() {
    let mut yardstick = Yardstick::start(&[]);
    yardstick.target.sources = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
    let report = run(&yardstick.target, &small(10, 1));
    assert!(report.replies >= 2000);
}

#[test]
fn held_connections_are_probed_and_let_go() {
    for arguments in LOOPS {
        let yardstick = Yardstick::start(arguments);
        let plan = hold::Plan { connections: 500, probes: 100, seed: 7, time: Duration::from_millis(50) };
        let report = hold::run(&yardstick.target, &plan, &mut Progress::silent()).unwrap();
        assert_eq!((report.connections, report.probed, report.seed), (500, 100, 7));
        assert!(report.memory_before.unwrap().rss > 0 && report.memory_after.unwrap().rss > 0);
        assert!(report.held_seconds >= 0.05);
        // A table of descriptors and nothing more: well under a page each.
        assert!(report.rss_bytes_per_connection.unwrap() < 4096.0, "{report:?}");
    }
}

#[test]
fn short_connections_end_by_half_close() {
    for arguments in LOOPS {
        let yardstick = Yardstick::start(&[arguments, &["--greeting"]].concat());
        let plan = churn::Plan { connections: 300, concurrency: 16, end: churn::End::HalfClose };
        let report = churn::run(&yardstick.target, &plan, &mut Progress::silent()).unwrap();
        assert_eq!((report.connections, report.latency_us.count), (300, 300));
        assert!(report.connections_per_second > 0.0);
    }
}

/// A child has a copy of every descriptor until it executes its program, and epoll tells of a socket as long as one is open.
#[test]
fn a_child_that_is_started_meanwhile_keeps_no_ended_connection() {
    let yardstick = Yardstick::start(&["--greeting"]);
    let plan = churn::Plan { connections: 1000, concurrency: 16, end: churn::End::HalfClose };
    thread::scope(|scope| {
        let load = scope.spawn(|| churn::run(&yardstick.target, &plan, &mut Progress::silent()));
        while !load.is_finished() {
            assert!(Command::new("true").status().unwrap().success());
        }
        assert_eq!(load.join().unwrap().unwrap().connections, 1000);
    });
}

#[test]
fn a_quiet_client_is_timed_beside_flooders_that_stay() {
    for arguments in LOOPS {
        let yardstick = Yardstick::start(arguments);
        let plan =
            quiet::Plan { flooders: 2, time: Duration::from_millis(300), warm_up: Duration::from_millis(50) };
        let report = quiet::run(&yardstick.target, &plan, &mut Progress::silent()).unwrap();
        assert!(report.latency_us.count > 0);
        assert_eq!(report.flood_lines.len(), 2);
        assert!(report.flood_lines.iter().all(|&lines| lines > 1000), "{report:?}");
    }
}

#[test]
fn a_greeting_is_sent_only_if_asked_for() {
    for arguments in LOOPS {
        let silent = Yardstick::start(arguments);
        assert_eq!(exchange(silent.target.address, b"a\nb\n"), b"a\nb\n");
        let polite = Yardstick::start(&[arguments, &["--greeting"]].concat());
        assert_eq!(exchange(polite.target.address, b"a\nb\n"), b"ready\na\nb\n");
    }
}

#[test]
fn a_client_that_reads_late_gets_every_byte() {
    // More than the kernel's buffers of both directions hold.
    const BYTES: usize = 32 * 1024 * 1024;
    for arguments in LOOPS {
        let yardstick = Yardstick::start(arguments);
        let mut socket = TcpStream::connect(yardstick.target.address).unwrap();
        let mut sender = socket.try_clone().unwrap();
        let (started, start) = std::sync::mpsc::channel();
        let sending = thread::spawn(move || {
            let block: Vec<u8> = (0..=255).cycle().take(64 * 1024).collect();
            for index in 0..BYTES / block.len() {
                if index == 8 {
                    started.send(()).unwrap();
                }
                sender.write_all(&block).unwrap();
            }
            sender.shutdown(std::net::Shutdown::Write).unwrap();
        });
        start.recv().unwrap();
        // How long is of no matter: the later, the fuller the buffers.
        thread::sleep(Duration::from_millis(200));
        let mut all = Vec::new();
        socket.read_to_end(&mut all).unwrap();
        sending.join().unwrap();
        assert_eq!(all.len(), BYTES);
        assert!(all.iter().enumerate().all(|(at, &byte)| byte == at as u8));
    }
}
