//! Which cases run, against what.

use std::net::SocketAddr;

use crate::case::{Case, NotPassed};
use crate::cases::all_cases;
use crate::command::Command;
use crate::context::Traits;
use crate::report::Summary;
use crate::runner;

/// What is tested.
#[derive(Clone, Debug)]
pub enum Target {
    /// A server that runs already.
    Address(SocketAddr),
    /// The command that starts one.
    Command(Command),
}

/// A run of the suite, before it starts.
#[derive(Clone, Debug)]
pub struct Suite {
    pub(crate) target: Target,
    pub(crate) traits: Traits,
    pub(crate) seed: u64,
    only: Vec<String>,
    without: Vec<(String, String)>,
}

impl Suite {
    /// Every case, for a server of the default kind, with a seed from the clock.
    pub fn new(target: Target) -> Suite {
        let since_epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Suite {
            target,
            traits: Traits::default(),
            seed: since_epoch.as_nanos() as u64,
            only: Vec::new(),
            without: Vec::new(),
        }
    }

    /// What to expect of this kind of server.
    #[must_use]
    pub fn traits(self, traits: Traits) -> Suite {
        Suite { traits, ..self }
    }

    /// Repeats the random choices of an earlier run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Suite {
        Suite { seed, ..self }
    }

    /// Only the cases that have one of these names, or whose name contains it when none has it; all when there is no text.
    #[must_use]
    pub fn only<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Suite {
        self.only.extend(names.into_iter().map(Into::into));
        self
    }

    /// Leaves out cases that this server cannot have, each with the reason.
    #[must_use]
    pub fn without(mut self, cases: &[(&str, &str)]) -> Suite {
        self.without.extend(cases.iter().map(|&(name, why)| (name.to_string(), why.to_string())));
        self
    }

    /// The cases that `only` leaves.
    ///
    /// # Errors
    /// When a name fits no case: a misspelt one would pass unnoticed.
    pub fn selected(&self) -> Result<Vec<Case>, String> {
        let all = all_cases();
        if let Some(name) = self.only.iter().find(|name| !all.iter().any(|case| case.name.contains(&***name))) {
            return Err(format!("no case is named like '{name}'"));
        }
        if let Some((name, _)) = self.without.iter().find(|(name, _)| !all.iter().any(|case| case.name == name)) {
            return Err(format!("no case is named '{name}'"));
        }
        let is_name = |text: &str| all.iter().any(|case| case.name == text);
        let fits = |case: &Case, text: &str| case.name == text || (!is_name(text) && case.name.contains(text));
        let wanted = |case: &Case| self.only.is_empty() || self.only.iter().any(|text| fits(case, text));
        Ok(all.iter().filter(|case| wanted(case)).copied().collect())
    }

    /// Why a case is left out, if it is.
    pub(crate) fn left_out(&self, case: &Case) -> Option<NotPassed> {
        let (_, why) = self.without.iter().find(|(name, _)| name == case.name)?;
        Some(NotPassed::skipped(format!("this server is without it: {why}")))
    }

    /// Runs the cases and prints as it goes.
    ///
    /// # Errors
    /// As [`Suite::selected`].
    pub fn run(&self) -> Result<Summary, String> {
        Ok(runner::run(self, &self.selected()?))
    }

    /// Runs the cases for a test: prints, and panics with the summary when a case failed.
    ///
    /// # Panics
    /// When a case failed, or a name fits no case.
    pub fn check(&self) {
        match self.run() {
            Ok(summary) => assert!(summary.failed.is_empty(), "{summary}: {}", summary.failed.join(", ")),
            Err(mistake) => panic!("{mistake}"),
        }
    }
}

/// What a shell's own test calls: every case against the server that `command` starts, but for those in `without`, given as
/// (name, reason).
///
/// ```no_run
/// use evserver_conformance::{Command, check};
/// check(Command::spawn("target/release/evserver", &["--edge-triggered"]), &[]);
/// ```
///
/// # Panics
/// As [`Suite::check`].
pub fn check(command: Command, without: &[(&str, &str)]) {
    Suite::new(Target::Command(command)).without(without).check();
}
