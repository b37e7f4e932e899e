//! What a case is, and how it ends.

use crate::context::Context;

/// One thing that a server must do.
#[derive(Clone, Copy)]
pub struct Case {
    /// `group::what_is_right`: what `--only` selects.
    pub name: &'static str,
    /// The rule in short, by its number in the crate's list: `rule 5: closing loses nothing`.
    pub rule: &'static str,
    /// What the case needs of the server.
    pub needs: Needs,
    /// Whether other cases may run at the same time.
    pub pace: Pace,
    /// Does it.
    pub run: fn(&Context) -> Outcome,
}

/// What a case needs of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// An address to connect to: the case leaves the server as it found it, and does not mind other clients.
    Address,
    /// A server of its own, started with options of its own, whose process it may watch, stop and signal.
    Spawn,
}

/// Whether other cases may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Nothing that the case checks depends on how fast the machine is. The wake-ups of a server of its own do not.
    Together,
    /// The case looks at the time, or keeps a processor busy: it runs by itself.
    Alone,
}

/// How a case ends; [`NotPassed`] says why when it does not pass.
pub type Outcome = Result<(), NotPassed>;

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPassed {
    /// The server is wrong. The text says what was sent and what came; the runner adds the rule.
    Failed(String),
    /// The case could not be tried.
    Skipped {
        /// Why not.
        why: String,
        /// Whether somebody should do something about it (a tool is missing), so that the summary repeats it.
        loud: bool,
    },
}

impl NotPassed {
    /// The server is wrong.
    pub fn failed(text: impl Into<String>) -> NotPassed {
        NotPassed::Failed(text.into())
    }

    /// The case does not apply to this server.
    pub fn skipped(why: impl Into<String>) -> NotPassed {
        NotPassed::Skipped { why: why.into(), loud: false }
    }

    /// The case would apply, but something is missing here.
    pub fn skipped_loudly(why: impl Into<String>) -> NotPassed {
        NotPassed::Skipped { why: why.into(), loud: true }
    }

    /// The same with words before a failure's text: which part of a case, which round.
    #[must_use]
    pub fn within(self, place: impl std::fmt::Display) -> NotPassed {
        match self {
            NotPassed::Failed(text) => NotPassed::Failed(format!("{place}: {text}")),
            skipped => skipped,
        }
    }
}

/// A system call of the suite itself that fails is a failure too: the text is all there is to go by.
impl From<std::io::Error> for NotPassed {
    fn from(error: std::io::Error) -> NotPassed {
        NotPassed::Failed(format!("the suite's own system call failed: {error}"))
    }
}

/// Fails unless the condition holds, with a text formatted like `format!`.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err($crate::NotPassed::failed(format!($($text)+)));
        }
    };
}
