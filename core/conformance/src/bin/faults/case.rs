//! One fault, and what came of it.

use std::fmt;

use evserver_conformance::NotPassed;
use evserver_conformance::process::{Output, Server};

use crate::peer::Broken;

/// Which of its calls fail, counted from where a phase begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    First,
    Third,
    Last,
    Every,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            When::First => "first",
            When::Third => "third",
            When::Last => "last",
            When::Every => "every",
        })
    }
}

/// A system call that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub call: &'static str,
    pub errno: &'static str,
    pub when: When,
    /// How often the phase makes the call, for [`When::Last`].
    pub times: usize,
    /// For [`When::Every`]: of so many calls one fails.
    pub of: usize,
}

impl Fault {
    /// What strace is told; `from` is the number that the phase's first call has for it.
    pub fn injection(&self, from: usize) -> String {
        let when = match self.when {
            When::First => from.to_string(),
            When::Third => (from + 2).to_string(),
            When::Last => (from + self.times.saturating_sub(1)).to_string(),
            When::Every => format!("{from}+{}", self.of),
        };
        format!("inject={}:error={}:when={when}", self.call, self.errno)
    }
}

/// What came of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The phase does not make the call that often.
    NotMet,
    /// As the words say; that is as it should be.
    Is(String),
    /// As it must not be.
    Wrong(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::NotMet => f.write_str("–"),
            Outcome::Is(words) => f.write_str(words),
            Outcome::Wrong(words) => write!(f, "WRONG: {words}"),
        }
    }
}

/// How a server that ended by itself has ended: the status and the one line in which it says why.
pub fn ended(server: &Server, status: std::process::ExitStatus) -> Outcome {
    // The stream ends with the process; what is not there in time is not there.
    let _ = server.errors().wait_closed(evserver_conformance::DEADLINE);
    let line = last_line(server.errors());
    let how = match status.code() {
        Some(code) => format!("exit {code}"),
        None => status.to_string(),
    };
    match line {
        Some(line) if status.code() == Some(PANICKED) => Outcome::Wrong(format!("it panics: {line}")),
        Some(line) if !status.success() => Outcome::Is(format!("{how}: `{line}`")),
        Some(line) => Outcome::Wrong(format!("it ends with 0 and says {line}")),
        None => Outcome::Wrong(format!("it ends without a word: {how}")),
    }
}

/// What a Rust program ends with whose main thread panics.
const PANICKED: i32 = 101;

fn last_line(output: &Output) -> Option<String> {
    let line = output.lines().into_iter().rfind(|line| !line.trim().is_empty())?;
    // A bar would end the cell of the table.
    Some(line.replace('|', "/"))
}

/// What became of the clients, in words that do not depend on how many there were.
pub fn clients(talks: &[Result<(), Broken>]) -> Outcome {
    if let Some(Err(Broken::Wrong(why))) = talks.iter().find(|talk| matches!(talk, Err(Broken::Wrong(_)))) {
        return Outcome::Wrong(why.clone());
    }
    let count = |broken: Broken| talks.iter().filter(|talk| talk.as_ref().err() == Some(&broken)).count();
    let part = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("one {what}")),
        all if all == talks.len() => Some(format!("all {what}")),
        _ => Some(format!("some {what}")),
    };
    let parts: Vec<String> = [part(count(Broken::Lost), "lost"), part(count(Broken::Refused), "refused")]
        .into_iter()
        .flatten()
        .collect();
    Outcome::Is(if parts.is_empty() { "served".to_string() } else { parts.join(", ") })
}

/// A case of the tool that could not be tried, or a server that is wrong: both are said in the table.
pub fn or_wrong(result: Result<Outcome, NotPassed>) -> Outcome {
    match result {
        Ok(outcome) => outcome,
        Err(NotPassed::Failed(text)) => Outcome::Wrong(text.lines().next().unwrap_or_default().to_string()),
        Err(NotPassed::Skipped { why, .. }) => Outcome::Wrong(format!("not tried: {why}")),
    }
}
