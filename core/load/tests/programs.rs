//! The programs as a user runs them: what they print, and how they exit.
#![cfg(target_os = "linux")]

mod common;

use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};

use common::{Fault, Yardstick, numbered};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use serde_json::Value;

const LOAD: &str = env!("CARGO_BIN_EXE_evserver-load");
const YARDSTICK: &str = env!("CARGO_BIN_EXE_evserver-yardstick");
const COMPARE: &str = env!("CARGO_BIN_EXE_evserver-compare");

fn program(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

const SMALL: [&str; 6] = ["--connections", "4", "--replies", "200", "--warm-up", "0"];

#[test]
fn a_steady_load_is_reported_as_text_and_json() {
    let yardstick = Yardstick::start(&[]);
    let (address, pid) = (yardstick.target.address.to_string(), yardstick.target.pid.unwrap().to_string());
    let arguments = [&SMALL[..], &["--mode", "echo", "--pid", &pid, &address]].concat();
    let output = program(LOAD, &arguments);
    assert!(output.status.success(), "{output:?}");
    for name in ["replies/s", "server CPU a reply", "p99.9", "errors                         0"] {
        assert!(out(&output).contains(name), "{name}: {}", out(&output));
    }
    assert_eq!(err(&output), "", "no progress where there is no terminal");
    let value = json(&program(LOAD, &[&arguments[..], &["--json"]].concat()));
    assert!(value["replies"].as_u64().unwrap() >= 200);
    assert!(value["server_cpu_ns_per_reply"].as_f64().unwrap() > 0.0);
    assert_eq!(value["errors"], 0);
}

#[test]
fn each_kind_of_load_has_its_json() {
    let address = numbered(Fault::None).address.to_string();
    let cases: [(&[&str], &str); 3] = [
        (&["--hold", "20"], "kernel_slab_bytes_per_connection"),
        (&["--churn", "20", "--concurrency", "4"], "connections_per_second"),
        (&["--quiet-beside", "1", "--seconds", "0.1", "--warm-up", "0"], "flood_replies_per_second"),
    ];
    for (arguments, field) in cases {
        let value = json(&program(LOAD, &[arguments, &["--json", &address]].concat()));
        assert!(value[field].is_number(), "{value}");
        let text = out(&program(LOAD, &[arguments, &[&address]].concat()));
        assert!(text.contains("not known without --pid"), "{text}");
    }
}

#[test]
fn a_wrong_byte_is_exit_1_with_the_place() {
    let address = numbered(Fault::WrongByte).address.to_string();
    let output = program(LOAD, &[&SMALL[..], &[&address, "--json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).starts_with("evserver-load: wrong reply 3 on connection "), "{}", err(&output));
    assert_eq!(json(&output)["errors"], 1);
}

#[test]
fn a_server_that_is_not_there_is_exit_1() {
    // Bound but not listening: nobody else can take the port meanwhile.
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap().to_string();
    let output = program(LOAD, &[&SMALL[..], &[&address]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("Connection refused"), "{}", err(&output));
}

#[test]
fn wrong_arguments_are_exit_2() {
    let cases: [(&str, &[&str]); 9] = [
        (LOAD, &[]),
        (LOAD, &["localhost"]),
        (LOAD, &["127.0.0.1:1", "--depth", "0"]),
        (LOAD, &["127.0.0.1:1", "--line-bytes", "4096"]),
        (LOAD, &["127.0.0.1:1", "--seconds", "-1"]),
        (LOAD, &["127.0.0.1:1", "--hold", "5", "--churn", "5"]),
        (YARDSTICK, &["--listen", "nowhere"]),
        (COMPARE, &["--only", "no-such-case"]),
        (COMPARE, &["--rounds", "0"]),
    ];
    for (name, arguments) in cases {
        let output = program(name, arguments);
        assert_eq!(output.status.code(), Some(2), "{name} {arguments:?}: {output:?}");
        assert_eq!(out(&output), "");
    }
}

#[test]
fn help_and_version_are_exit_0() {
    for name in [LOAD, YARDSTICK, COMPARE] {
        for argument in ["--help", "--version"] {
            let output = program(name, &[argument]);
            assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
        }
    }
}

#[test]
fn a_taken_address_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = program(YARDSTICK, &["--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains(&format!("cannot serve on {address}: Address already in use")), "{output:?}");
}

#[test]
fn the_cases_are_listed() {
    let text = out(&program(COMPARE, &["--list"]));
    for name in ["64x1 ", "64x16 ", "64x64 ", "1000x1 ", "64x1-idle-10000 ", "tokio-64x64 "] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
}

/// Two yardsticks can be compared: one is the subject, and an echo.
fn compared(more: &[&str]) -> Output {
    let subject = format!("{YARDSTICK} --greeting");
    let quick = ["--subject", &subject, "--subject-mode", "echo", "--rounds", "2", "--seconds", "0.05"];
    program(COMPARE, &[&quick[..], more].concat())
}

#[test]
fn a_comparison_gives_a_table_and_json() {
    let file = std::env::temp_dir().join(format!("evserver-compare-test-{}.json", std::process::id()));
    let output = compared(&["--only", "64x16", "--only", "quiet-beside-3", "--json", file.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let text = out(&output);
    assert!(text.starts_with("Medians of 2 alternating rounds of 0.1 s; server"), "{text}");
    assert!(text.contains("| 64x16 | 64 connections, 16 in flight | ns of server CPU a reply |"), "{text}");
    assert!(text.contains("≤ 1.08 × yardstick |"), "{text}");
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let measured = &value["rows"][0]["measured"];
    assert_eq!(measured["subject"].as_array().unwrap().len(), 2);
    assert_eq!(measured["reference"].as_array().unwrap().len(), 2);
    // Nothing is known of the machine, but that the same program twice is not a hundred times itself.
    let ratio = measured["value"].as_f64().unwrap();
    assert!((0.01..100.0).contains(&ratio), "{ratio}");
    assert!(value["rows"][1]["measured"]["reference"].as_array().unwrap().is_empty());
}

#[test]
fn a_row_without_its_programs_says_so() {
    let output = compared(&["--only", "tokio-64x1", "--tokio", "/no/such/server"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("failed: cannot start /no/such/server"), "{}", out(&output));
}

#[test]
fn a_subject_that_answers_wrongly_has_no_figure() {
    // The yardstick is no numbered echo.
    let subject = format!("{YARDSTICK} --greeting");
    let output = program(COMPARE, &["--subject", &subject, "--rounds", "1", "--seconds", "0.05", "--only", "64x1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("failed: wrong reply 1 on connection"), "{}", out(&output));
}
