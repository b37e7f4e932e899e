//! Which faults are tried, and several at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use evserver_conformance::process::Launch;
use evserver_conformance::{Command, NotPassed};

use crate::calls::{CALLS, LEFT_ALONE};
use crate::case::{Fault, Outcome, When, or_wrong};
use crate::kind::{Kind, is_among};
use crate::table::{Key, Phase};
use crate::{draining, serving, starting};

/// What there is to do for one server.
pub struct Plan {
    command: Command,
    starting: starting::Calls,
    keys: Vec<Key>,
    kind: Kind,
}

impl Plan {
    /// Looks at the server's calls, to know which can fail.
    pub fn new(command: Command, kind: Kind, only: &[String]) -> Result<Plan, NotPassed> {
        let starting = starting::Calls::of(launch(&command, &[])?)?;
        let seen = [
            serving::calls(launch(&command, serving::OPTIONS)?, kind)?,
            draining::calls(launch(&command, draining::OPTIONS)?, kind)?,
        ];
        let mut made: BTreeMap<Phase, BTreeSet<String>> = BTreeMap::new();
        made.insert(Phase::Starting, starting.own().iter().cloned().collect());
        for (phase, seen) in [Phase::Serving, Phase::Draining].into_iter().zip(seen) {
            made.insert(phase, seen.calls.into_iter().map(|call| call.name).collect());
        }
        for (phase, names) in &made {
            is_known(names.iter().filter(|name| !kind.leaves_out(*phase, name)))?;
        }
        let mut keys = Vec::new();
        for (phase, names) in &made {
            let is_tried = |name: &str| names.contains(name) && !kind.leaves_out(*phase, name);
            for call in CALLS.iter().filter(|call| is_tried(call.name)) {
                for &errno in kind.tried(call) {
                    let name = format!("{}:{errno}", call.name);
                    if only.is_empty() || only.iter().any(|text| name.contains(text.as_str())) {
                        keys.extend(phase.columns().iter().map(|&when| (*phase, call.name, errno, when)));
                    }
                }
            }
        }
        Ok(Plan { command, starting, keys, kind })
    }

    /// Tries them all.
    pub fn run(&self, jobs: usize) -> BTreeMap<Key, Outcome> {
        let next = AtomicUsize::new(0);
        let cells = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    while let Some(&key) = self.keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let outcome = self.one(key);
                        if matches!(outcome, Outcome::Wrong(_)) {
                            let (phase, call, errno, when) = key;
                            eprintln!("{phase:?} {call} {errno} {when}: {outcome}");
                        }
                        cells.lock().unwrap_or_else(PoisonError::into_inner).insert(key, outcome);
                    }
                });
            }
        });
        cells.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries one.
    pub fn one(&self, (phase, call, errno, when): Key) -> Outcome {
        let fault =
            Fault { call, errno, when, times: self.starting.times(call), of: self.kind.one_of(call, errno) };
        if when == When::Last && fault.times < 2 {
            // That is the first.
            return Outcome::NotMet;
        }
        let options = match phase {
            Phase::Starting => &[],
            Phase::Serving => serving::OPTIONS,
            Phase::Draining => draining::OPTIONS,
        };
        let launch = match launch(&self.command, options) {
            Ok(launch) => launch,
            Err(failed) => return or_wrong(Err(failed)),
        };
        match phase {
            Phase::Starting => starting::run(launch, &fault, &self.starting),
            Phase::Serving => serving::run(launch, &fault, self.kind),
            Phase::Draining => draining::run(launch, &fault, self.kind),
        }
    }
}

/// What a server says when it ends is to be the same for everyone.
fn launch(command: &Command, options: &[&str]) -> Result<Launch, NotPassed> {
    Launch::new(command.with(options)).under(&["env", "-u", "RUST_BACKTRACE"])
}

/// A call that nobody has thought about fails unseen.
fn is_known<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), NotPassed> {
    let left_alone = |name: &str| LEFT_ALONE.iter().any(|(names, _)| is_among(names, name));
    let listed = |name: &str| CALLS.iter().any(|call| call.name == name);
    let unknown: BTreeSet<&String> = names.filter(|name| !listed(name) && !left_alone(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(NotPassed::failed(format!("the server makes system calls that no list has: {unknown:?}")))
}
