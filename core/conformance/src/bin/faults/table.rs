//! The table: what is written, and how two of them differ.

use std::collections::BTreeMap;

use crate::calls::{CALLS, LEFT_ALONE};
use crate::case::{Outcome, When};
use crate::kind::Kind;

/// When a fault comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Starting,
    Serving,
    Draining,
}

impl Phase {
    pub const ALL: [Phase; 3] = [Phase::Starting, Phase::Serving, Phase::Draining];

    pub fn title(self) -> &'static str {
        match self {
            Phase::Starting => "While it starts",
            Phase::Serving => "While it serves",
            Phase::Draining => "From the signal to stop on",
        }
    }

    /// Which calls are made to fail.
    pub fn columns(self) -> &'static [When] {
        match self {
            Phase::Starting => &[When::First, When::Last, When::Every],
            Phase::Serving => &[When::First, When::Third, When::Every],
            Phase::Draining => &[When::First, When::Every],
        }
    }
}

/// A cell: the phase, the call, the error, which of the calls.
pub type Key = (Phase, &'static str, &'static str, When);

const INTRODUCTION: &str = "\
What becomes of the server and its clients when a system call fails. Made by `evserver-faults`; do not edit.

- `served`: every client got every byte. `one lost`, `some lost`, `all lost`: so many connections ended early, and what came
  until then was right. `refused`: told that the server is full. `once it is over`: a client waits for as long as the fault lasts.
- `exit N`: the server ends and says why in one line. `starts`: it starts and serves all the same.
- `–`: the call is not made that often.
- `first`, `third`, `last`, `every`: which calls fail, counted for each thread from where the phase begins. Of calls that are
  repeated (EINTR, EAGAIN) every second one fails, in place of every one.

After each of them no descriptor is left open, no call is made over and over, and when the faults are over the server serves
and ends as ever.
";

/// The whole table.
pub fn write(cells: &BTreeMap<Key, Outcome>, kind: Kind) -> String {
    let mut text = INTRODUCTION.to_string() + kind.introduction();
    for phase in Phase::ALL {
        text += &format!("\n## {}\n\n", phase.title());
        let names: Vec<String> = phase.columns().iter().map(When::to_string).collect();
        text += &format!("| call | error | {} |\n|---|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
        for call in CALLS {
            for &errno in call.tried {
                let cell = |when: &When| cells.get(&(phase, call.name, errno, *when)).map(Outcome::to_string);
                let row: Option<Vec<String>> = phase.columns().iter().map(cell).collect();
                if let Some(row) = row {
                    text += &format!("| `{}` | {errno} | {} |\n", call.name, row.join(" | "));
                }
            }
        }
    }
    text += "\n## Errors that are listed and not tried\n\n| call | errors | why |\n|---|---|---|\n";
    let is_made = |name: &str| cells.keys().any(|key| key.1 == name);
    for call in CALLS.iter().filter(|call| is_made(call.name)) {
        for (errors, why) in call.not {
            text += &format!("| `{}` | {errors} | {why} |\n", call.name);
        }
        let tried = kind.tried(call);
        let alike: Vec<&str> = call.tried.iter().copied().filter(|errno| !tried.contains(errno)).collect();
        if !alike.is_empty() {
            text += &format!("| `{}` | {} | taken as one of those that are tried |\n", call.name, alike.join(" "));
        }
    }
    text += "\n## Calls that are left alone\n\n| calls | why |\n|---|---|\n";
    for (names, why) in LEFT_ALONE {
        text += &format!("| `{names}` | {why} |\n");
    }
    for left in kind.left_out() {
        text += &format!("| `{}`{} | {} |\n", left.names, left.when(), left.why);
    }
    text
}

/// What a written table has for a cell.
pub fn recorded(text: &str, (phase, call, errno, when): Key) -> Option<String> {
    let start = format!("| `{call}` | {errno} | ");
    let section = text.split("\n## ").find(|section| section.starts_with(phase.title()))?;
    let row = section.lines().find_map(|line| line.strip_prefix(&start))?;
    let column = phase.columns().iter().position(|column| *column == when)?;
    row.trim_end_matches(" |").split(" | ").nth(column).map(str::to_string)
}

/// Whether an outcome is the one that is recorded. How often a call is made depends a little on how the machine runs (a stack
/// that is free again is not mapped anew), so that a fault that is not met says nothing.
pub fn is_same(recorded: Option<&str>, outcome: &Outcome) -> bool {
    let not_met = Outcome::NotMet.to_string();
    let now = outcome.to_string();
    recorded.is_some_and(|was| match outcome {
        Outcome::NotMet => true,
        Outcome::Is(_) => was == now || was == not_met,
        Outcome::Wrong(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_met_says_nothing() {
        let served = Outcome::Is("served".to_string());
        assert!(is_same(Some("served"), &served) && is_same(Some("–"), &served));
        assert!(is_same(Some("one lost"), &Outcome::NotMet));
        assert!(!is_same(Some("one lost"), &served) && !is_same(None, &served));
        assert!(!is_same(None, &Outcome::NotMet));
        assert!(!is_same(Some("WRONG: served"), &Outcome::Wrong("served".to_string())));
    }

    #[test]
    fn what_is_written_is_found_again() {
        let mut cells = BTreeMap::new();
        for (number, &when) in Phase::Serving.columns().iter().enumerate() {
            cells.insert((Phase::Serving, "accept4", "EMFILE", when), Outcome::Is(format!("served {number}")));
        }
        let text = write(&cells, Kind::OneLoop);
        for (key, outcome) in &cells {
            assert_eq!(recorded(&text, *key), Some(outcome.to_string()));
        }
        let other = (Phase::Serving, "accept4", "ENFILE", When::First);
        assert_eq!(recorded(&text, other), None);
        let elsewhere = (Phase::Draining, "accept4", "EMFILE", When::First);
        assert_eq!(recorded(&text, elsewhere), None);
    }
}
