//! What a run prints, and what it comes to.

use std::fmt;

use crate::case::{Case, NotPassed, Outcome};

/// What a run came to, by the names of the cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Those that passed.
    pub passed: Vec<&'static str>,
    /// Those that failed.
    pub failed: Vec<&'static str>,
    /// Those that were not tried.
    pub skipped: Vec<&'static str>,
    /// Those of them for which something is missing here, with what it is.
    missing: Vec<(&'static str, String)>,
}

impl Summary {
    /// Counts a case, and gives the lines to print about it.
    pub(crate) fn add(&mut self, case: &Case, outcome: Outcome) -> String {
        match outcome {
            Ok(()) => {
                self.passed.push(case.name);
                format!("ok {}", case.name)
            }
            Err(NotPassed::Failed(text)) => {
                self.failed.push(case.name);
                format!("FAILED {}\n    {}\n    {text}", case.name, case.rule)
            }
            Err(NotPassed::Skipped { why, loud }) => {
                self.skipped.push(case.name);
                let line = format!("skipped {}: {why}", case.name);
                if loud {
                    self.missing.push((case.name, why));
                }
                line
            }
        }
    }

    /// A line for each case that somebody should make possible to try.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|(name, why)| format!("NOT TRIED {name}: {why}"))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed.len(), self.failed.len())?;
        if !self.skipped.is_empty() {
            write!(f, ", {} skipped", self.skipped.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Needs, Pace};

    #[test]
    fn a_summary_counts_and_repeats_what_is_missing() {
        let case = Case {
            name: "group::name",
            rule: "rule 1: lines",
            needs: Needs::Address,
            pace: Pace::Together,
            run: |_| Ok(()),
        };
        let mut summary = Summary::default();
        assert_eq!(summary.add(&case, Ok(())), "ok group::name");
        assert_eq!(summary.to_string(), "1 passed, 0 failed");
        let failed = summary.add(&case, Err(NotPassed::failed("came x")));
        assert_eq!(failed, "FAILED group::name\n    rule 1: lines\n    came x");
        assert_eq!(summary.add(&case, Err(NotPassed::skipped("why"))), "skipped group::name: why");
        assert_eq!(summary.warnings().count(), 0);
        summary.add(&case, Err(NotPassed::skipped_loudly("no strace")));
        assert_eq!(summary.warnings().collect::<Vec<_>>(), ["NOT TRIED group::name: no strace"]);
        assert_eq!(summary.to_string(), "1 passed, 1 failed, 2 skipped");
    }
}
