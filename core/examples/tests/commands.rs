//! The programs themselves: their command lines, one conversation on each shell, and their end.

mod tools;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::process::Command;

use tools::{Running, connect, shells, word};

/// Each program, a question and its answer, and what it says at its end behind the counts.
const PROGRAMS: [(&str, &[u8], &[u8], &str); 4] = [
    (env!("CARGO_BIN_EXE_resp"), b"SET a b\r\nGET a\r\n", b"+OK\r\n$1\r\nb\r\n", ""),
    (
        env!("CARGO_BIN_EXE_smtp-sink"),
        b"HELO me\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\nx\r\n.\r\n",
        b"220 localhost takes mail and keeps it to itself\r\n250 localhost\r\n250 2.1.0 ok\r\n250 2.1.5 ok\r\n\
          354 end it with a dot on a line of its own\r\n250 2.0.0 taken\r\n",
        "took 1 mails\n",
    ),
    (env!("CARGO_BIN_EXE_chat"), b"hello\n", b"* you are guest-1, others here: 0\n", ""),
    (
        env!("CARGO_BIN_EXE_hash"),
        b"abc\n",
        b"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n",
        "",
    ),
];

#[test]
fn each_program_serves_on_each_shell_and_ends_when_told() {
    for (program, question, answer, last_words) in PROGRAMS {
        for &shell in shells() {
            let server = Running::start(program, shell, &["--threads", "2"]);
            let mut stream = connect(server.address);
            stream.write_all(question).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut answered = Vec::new();
            stream.read_to_end(&mut answered).unwrap();
            assert_eq!(
                answered.escape_ascii().to_string(),
                answer.escape_ascii().to_string(),
                "{program} {shell:?}"
            );
            let finished = server.stop();
            assert!(finished.success, "{program} {shell:?}: {}", finished.errors);
            let expected = format!("served 1 connections, peak concurrent 1\n{last_words}");
            assert_eq!(finished.output, expected, "{program} {shell:?}");
            assert_eq!(finished.errors, "", "{program} {shell:?}");
        }
    }
}

#[test]
fn each_program_explains_itself_and_refuses_what_makes_no_sense() {
    for (program, ..) in PROGRAMS {
        let help = Command::new(program).arg("--help").output().unwrap();
        let said = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(help.status.success() && said.contains("--listen") && said.contains("--shell"), "{said}");
        for &shell in shells() {
            assert!(said.contains(&format!("- {}:", word(shell))), "{shell:?} in {said}");
        }
        let refused = Command::new(program).args(["--shell", "none"]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("Usage: "), "{refused:?}");
    }
}
