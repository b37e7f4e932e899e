//! How the transcripts are replayed: over TCP here, or by a program that says what came.

use std::net::SocketAddr;
use std::process::Command;

use evserver_conformance::{Manner, NotPassed, Random, replay};
use evserver_runtimes::Named;

use crate::row::Replays;

/// Rounds with random cuts.
const RANDOM_ROUNDS: u64 = 5;

/// Replays every transcript in every manner against a server.
pub fn over_tcp(address: SocketAddr, all: &[Named]) -> Replays {
    let mut replays = Replays { transcripts: all.len(), ..Replays::default() };
    let mut count = 0;
    for named in all {
        let before = replays.differences.len();
        for manner in Manner::ALL {
            let rounds = if manner == Manner::RandomCuts { RANDOM_ROUNDS } else { 1 };
            for round in 0..rounds {
                count += 1;
                match replay(&named.transcript(), manner, address, &mut Random::new(round)) {
                    Ok(()) => {}
                    Err(NotPassed::Failed(what) | NotPassed::Skipped { why: what, .. }) => {
                        replays.differences.push(format!("{}: {what}", named.name));
                    }
                }
            }
        }
        replays.identical += usize::from(replays.differences.len() == before);
    }
    replays.how = format!("{count} over TCP, in {} manners", Manner::ALL.len());
    replays
}

/// Runs a program that replays them by itself. It says `replayed N transcripts HOW`, and a line with FAILED for each that
/// came otherwise.
pub fn by_program(command: &mut Command, all: &[Named]) -> Replays {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return failed(all, format!("{command:?} cannot be run: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return failed(all, format!("{command:?}: {}\n{said}{errors}", output.status));
    }
    match said.lines().find_map(replayed) {
        Some((number, how)) => {
            Replays { how: how.to_string(), transcripts: all.len(), identical: number, differences: Vec::new() }
        }
        None => failed(all, format!("{command:?} does not say how many it replayed\n{said}")),
    }
}

fn failed(all: &[Named], what: String) -> Replays {
    Replays { how: "failed".to_string(), transcripts: all.len(), identical: 0, differences: vec![what] }
}

/// Takes `replayed 21 transcripts in some way` apart.
fn replayed(line: &str) -> Option<(usize, &str)> {
    let (number, how) = line.strip_prefix("replayed ")?.split_once(" transcripts ")?;
    Some((number.parse().ok()?, how))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;

    use evserver_runtimes::transcripts;

    use super::*;

    #[test]
    fn a_server_that_answers_otherwise_is_found_out() {
        let mut all = transcripts().unwrap();
        all.retain(|named| ["greeting", "quit"].contains(&&*named.name));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                // It greets, and that is all it can do.
                let _ = client.unwrap().write_all(b"ready\n");
            }
        });
        let replays = over_tcp(address, &all);
        assert_eq!((replays.identical, replays.transcripts), (1, 2));
        assert!(replays.differences.iter().all(|what| what.starts_with("quit: ")), "{:?}", replays.differences);
        assert_eq!(replays.how, "20 over TCP, in 6 manners");
    }

    fn shell(script: &str) -> Replays {
        by_program(Command::new("sh").args(["-c", script]), &transcripts().unwrap()[..2])
    }

    #[test]
    fn a_program_is_believed_only_when_it_says_so_and_ends_well() {
        let replays = shell("echo first; echo 'replayed 2 transcripts in 7 ways'");
        assert_eq!((replays.how.as_str(), replays.identical, replays.transcripts), ("in 7 ways", 2, 2));
        assert_eq!(shell("echo 'replayed 2 transcripts in 7 ways'; exit 1").identical, 0);
        assert_eq!(shell("echo 'FAILED x'; exit 1").differences.len(), 1);
        assert_eq!(shell("true").differences.len(), 1);
        assert_eq!(by_program(&mut Command::new("/nonexistent"), &[]).differences.len(), 1);
    }
}
