//! The tool that lets system calls fail: what it says of a server that is not as it should be.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use evserver_conformance::process::have;

const TOOL: &str = env!("CARGO_BIN_EXE_evserver-faults");

fn tool(arguments: &[&str]) -> Output {
    Command::new(TOOL).args(arguments).output().unwrap()
}

/// It has no signals and no report, which is missed before anything has failed.
#[test]
fn a_server_that_is_wrong_without_a_fault_is_no_base_for_a_table() {
    if !have("strace") {
        assert!(std::env::var_os("CI").is_none(), "strace is not installed");
        return eprintln!("NOT TRIED: strace is not installed");
    }
    let server = format!("'{}' --listen 127.0.0.1:0", env!("CARGO_BIN_EXE_faulty-server"));
    let output = tool(&["--spawn", &server]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("evserver-faults: ") && said.lines().count() >= 1, "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn wrong_arguments_are_exit_code_2() {
    let both = &["--spawn", "a", "--compare", "b", "--write", "c"];
    for wrong in [&["--spawn", "a 'b"][..], &[], both, &["--spawn", "a", "--kind", "b"]] {
        assert_eq!(tool(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
