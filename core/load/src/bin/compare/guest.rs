//! Very many connections, held in a guest by the command for that: more than a process may have on most machines.

use std::process::{Command, Stdio};

use evserver_load::failure::{Failure, Outcome};

use crate::figure::Figure;

/// Before the figure in what the command prints.
const MEMORY: &str = "user memory of the server a connection";

/// Runs `command` with the number of connections as its last argument: bytes of user memory for each of them.
///
/// It fails when one of them is not held or not answered, or takes too much.
pub fn memory(command: &str, connections: u64) -> Outcome<Figure> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or_else(|| Failure::Refused("an empty command for the guest".into()))?;
    let output = Command::new(program)
        .args(words)
        .arg(connections.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::io(command, error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let why = || Failure::Refused(format!("{command} ended with {}: {}", output.status, in_a_line(&text)));
    let figure = parse(&text).ok_or_else(why)?;
    if output.status.success() { Ok(figure) } else { Err(why()) }
}

fn parse(text: &str) -> Option<Figure> {
    let value = text.lines().find_map(|line| line.strip_prefix(MEMORY)?.split_whitespace().next()?.parse().ok())?;
    Some(Figure { value, server_waited: 0.0, load_waited: 0.0, note: Some(in_a_line(text)) })
}

fn in_a_line(text: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_found_and_the_rest_is_a_note() {
        let text = "connections held, each with an answered line 9 of 9\nuser memory of the server a connection    190.5 bytes (goal)\n";
        let found = parse(text).unwrap();
        assert_eq!(found.value, 190.5);
        assert!(
            found.note.unwrap().starts_with("connections held, each with an answered line 9 of 9; user memory")
        );
        assert!(parse("the guest did not come to its end").is_none());
    }

    #[test]
    fn a_command_without_a_figure_is_said() {
        let why = memory("false", 9).unwrap_err().to_string();
        assert!(why.contains("false ended with exit status: 1"), "{why}");
        assert!(memory("", 9).is_err() && memory("/no/such/program", 9).is_err());
    }
}
