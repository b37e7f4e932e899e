//! The program: what it prints, and its exit codes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

const SERVER: &str = env!("CARGO_BIN_EXE_faulty-server");

fn suite(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evserver-conformance")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn spawn_option(fault: &str) -> String {
    format!("'{SERVER}' --listen 127.0.0.1:0 --idle-timeout {{idle}} --fault {fault}")
}

/// A server that runs already, gone when the test is over.
struct Running(Child, String);

impl Running {
    fn new() -> Running {
        let mut child = Command::new(SERVER).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_string();
        Running(child, address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_right_server_is_exit_code_0() {
    let output = suite(&["--spawn", &spawn_option("none"), "--only", "transcripts::quit-", "--seed", "7"]);
    assert_eq!(output.status.code(), Some(0));
    let lines = text(&output.stdout);
    assert!(lines.starts_with("seed 7\nok transcripts::quit-carriage-return\n"), "{lines}");
    assert!(lines.ends_with("\n4 passed, 0 failed\n"), "{lines}");
}

#[test]
fn a_failure_says_what_was_sent_what_came_and_the_rule() {
    let output = suite(&[
        "--spawn",
        &spawn_option("cuts-nul"),
        "--only",
        "framing::nul_is_data",
        "--only",
        "transcripts::quit",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let lines = text(&output.stdout);
    for part in [
        "FAILED framing::nul_is_data\n",
        "rule 1: every byte value but LF is data, NUL too",
        r#"expected: "ready\n1: a\x00b\n""#,
        r#"came:     "ready\n1: a\n""#,
        r#"sent in all: "a\x00b\n""#,
        "\nok transcripts::quit\n",
        "\n1 passed, 1 failed\n",
    ] {
        assert!(lines.contains(part), "{part:?} is not in {lines}");
    }
}

#[test]
fn an_address_alone_is_enough_for_most_cases() {
    let server = Running::new();
    let only = ["--only", "framing::nul", "--only", "closing::half_close_is_not_gone"];
    let output = suite(&[&["--connect", &server.1][..], &only].concat());
    assert_eq!(output.status.code(), Some(0));
    let lines = text(&output.stdout);
    assert!(lines.contains("\nok framing::nul_is_data\n"), "{lines}");
    assert!(lines.contains("\nskipped closing::half_close_is_not_gone: it needs"), "{lines}");
    assert!(lines.ends_with("\n1 passed, 0 failed, 1 skipped\n"), "{lines}");
}

#[test]
fn a_case_can_be_left_out_with_a_reason() {
    let output = suite(&[
        "--spawn",
        &spawn_option("cuts-nul"),
        "--only",
        "framing::nul",
        "--without",
        "framing::nul_is_data=it is written in C",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let lines = text(&output.stdout);
    assert!(
        lines.contains("\nskipped framing::nul_is_data: this server is without it: it is written in C\n"),
        "{lines}"
    );
}

#[test]
fn a_server_that_does_not_start_fails_each_case() {
    let output = suite(&["--spawn", "false", "--only", "transcripts::quit-"]);
    assert_eq!(output.status.code(), Some(1));
    let lines = text(&output.stdout);
    assert!(lines.ends_with("\n0 passed, 4 failed\n"), "{lines}");
}

#[test]
fn a_server_that_dies_fails_the_case_and_not_the_next() {
    let spawn = spawn_option("dies-of-broken-pipe");
    let output = suite(&["--spawn", &spawn, "--only", "closing::vanished", "--only", "transcripts::quit"]);
    let lines = text(&output.stdout);
    assert!(lines.contains("\nFAILED closing::vanished_readers_do_not_kill\n"), "{lines}");
    assert!(lines.ends_with("\n1 passed, 1 failed\n"), "{lines}");
}

#[test]
fn the_list_shows_names_and_rules() {
    let output = suite(&["--list"]);
    assert_eq!(output.status.code(), Some(0));
    let lines = text(&output.stdout);
    assert!(lines.contains("transcripts::quit-then-more\n    rule 5: "), "{lines}");
    let (names, rules): (Vec<&str>, Vec<&str>) = lines.lines().partition(|line| !line.starts_with(' '));
    assert_eq!(names.len(), rules.len());
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len(), "two cases have the same name");
}

#[test]
fn wrong_arguments_are_exit_code_2() {
    for arguments in [
        &[][..],
        &["--connect", "127.0.0.1:1", "--spawn", "x"],
        &["--connect", "nowhere"],
        &["--spawn", " "],
        &["--spawn", "x", "--only", "no such case"],
        &["--spawn", "x", "--without", "framing::nul_is_data"],
        &["--spawn", "x", "--without", "no_such_case=reason"],
        &["--no-such-option"],
    ] {
        let output = suite(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("error"), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}
