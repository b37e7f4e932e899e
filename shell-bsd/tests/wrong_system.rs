//! On a system without kqueue the program says what to use instead.
#![cfg(not(kqueue))]

use std::process::Command;

#[test]
fn a_system_without_kqueue_is_told_what_to_use() {
    let output = Command::new(env!("CARGO_BIN_EXE_evserver-bsd")).arg("8080").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("evserver (epoll)") && said.contains("evserver-threads"), "{said}");
}
