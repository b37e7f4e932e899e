//! The rows of a comparison that need more than two servers of this package: Redis, and strace.
#![cfg(target_os = "linux")]

mod common;

use std::process::Command;

use common::{run, small};
use evserver_load::cpus::Cpus;
use evserver_load::script::Mode;
use evserver_load::server::{Server, Start, on_path};
use serde_json::Value;

const YARDSTICK: &str = env!("CARGO_BIN_EXE_evserver-yardstick");
const COMPARE: &str = env!("CARGO_BIN_EXE_evserver-compare");

/// Whether the program is there; where CI runs, it must be.
fn has(program: &str) -> bool {
    let found = on_path(program);
    if let Err(why) = &found {
        assert!(std::env::var_os("CI").is_none(), "{why}");
        println!("SKIPPED: {why}");
    }
    found.is_ok()
}

#[test]
fn redis_answers_what_is_due() {
    if !has("redis-server") {
        return;
    }
    let command = ["redis-server", "--save", "", "--appendonly", "no"].map(String::from).to_vec();
    let server = Server { command, start: Start::Redis, mode: Mode::Ping, greeting: false };
    let mut running = server.start(Cpus::choose().unwrap()).unwrap();
    for (mode, depth) in [(Mode::Ping, 1), (Mode::Ping, 16), (Mode::Get, 1), (Mode::Get, 16)] {
        running.target.mode = mode;
        let report = run(&running.target, &small(8, depth));
        assert!(report.replies >= 2000, "{report:?}");
    }
    running.stop().unwrap();
}

#[test]
fn a_server_that_is_no_redis_is_found_out() {
    let command = [YARDSTICK, "--greeting"].map(String::from).to_vec();
    let server = Server { command, start: Start::Announces, mode: Mode::Get, greeting: false };
    let running = server.start(Cpus::choose().unwrap()).unwrap();
    let answer =
        evserver_load::steady::run(&running.target, &small(2, 1), &mut evserver_load::progress::Progress::silent());
    let why = answer.unwrap_err().to_string();
    assert!(why.contains(r#"due "+OK\r\n", came "ready\n"#), "{why}");
}

#[test]
fn system_calls_are_counted_by_name() {
    if !has("strace") {
        return;
    }
    let file = std::env::temp_dir().join(format!("evserver-compare-calls-{}.json", std::process::id()));
    let subject = format!("{YARDSTICK} --greeting");
    let output = Command::new(COMPARE)
        .args(["--subject", &subject, "--subject-mode", "echo", "--json", file.to_str().unwrap()])
        .args(["--only", "calls-reply", "--only", "calls-connection"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n- calls-reply, subject: ") && text.contains("recvfrom 1.00"), "{text}");
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let found = |row: usize| value["rows"][row]["measured"]["value"].as_f64().unwrap();
    // A receive and a send, and at most one wait for each.
    assert!((2.0..=3.0).contains(&found(0)), "{value}");
    // The same program twice; a wait may be shared now and then.
    assert!((0.9..=1.1).contains(&found(1)), "{value}");
}
