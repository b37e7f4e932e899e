//! How a replay can fail.

use core::fmt::{Display, Formatter, Result};

use super::Way;
use crate::reason::CloseReason;

/// Where a replay went another way than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// How the conversation was cut.
    pub way: Way,
    /// Bytes of the output that had come as they should.
    pub at: usize,
    /// What was different.
    pub what: What,
}

/// What was different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Another byte came.
    Byte {
        /// The one that should have come.
        expected: u8,
        /// The one that came.
        got: u8,
    },
    /// More came than the whole output, and it begins with this byte.
    More(u8),
    /// The connection was closed before all of the output had come.
    Less(CloseReason),
    /// All of the output came, but the connection was closed for another reason than when nothing is cut.
    Reason {
        /// The reason when nothing is cut.
        expected: CloseReason,
        /// The reason in this way.
        got: CloseReason,
    },
    /// The connection waits for an answer that nobody gives.
    Unanswered,
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { way, at, what } = self;
        write!(f, "{way}: ")?;
        match what {
            What::Byte { expected, got } => {
                write!(f, "byte {} of the output should be {} and is {}", at + 1, Byte(*expected), Byte(*got))
            }
            What::More(got) => write!(f, "the output should end behind byte {at} and goes on with {}", Byte(*got)),
            What::Less(reason) => {
                write!(f, "the output ends behind byte {at}: the connection was closed ({reason:?})")
            }
            What::Reason { expected, got } => {
                write!(
                    f,
                    "the connection was closed for another reason ({got:?}) than when nothing is cut ({expected:?})"
                )
            }
            What::Unanswered => {
                write!(f, "behind byte {at} of the output nobody gives the answer that is waited for")
            }
        }
    }
}

impl core::error::Error for Difference {}

/// A byte for a person.
struct Byte(u8);

impl Display for Byte {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "'{}'", self.0.escape_ascii())
    }
}
