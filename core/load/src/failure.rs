//! Why a load ended without a figure.

use std::fmt;
use std::time::Duration;

/// What a load gives: its report, or why there is none.
pub type Outcome<T> = Result<T, Failure>;

/// Bytes of a wrong reply that are shown; enough to see a neighbour's line in it.
const SHOWN_BYTES: usize = 60;

/// The first thing that went wrong; nothing after it is worth measuring.
#[derive(Debug)]
pub enum Failure {
    /// A reply that is not the one that was due.
    Wrong {
        /// Which connection, from 0 in the order of opening.
        connection: u64,
        /// Which reply on it; 0 is the greeting.
        reply: u64,
        /// What was due, from the start of the reply.
        due: Vec<u8>,
        /// What came instead, from the start of the reply as far as it was received.
        came: Vec<u8>,
    },
    /// Bytes that answer no line.
    Unasked {
        /// Which connection, from 0 in the order of opening.
        connection: u64,
        /// What came.
        came: Vec<u8>,
    },
    /// The server's end of stream before every line was answered.
    Closed {
        /// Which connection, from 0 in the order of opening.
        connection: u64,
        /// Lines that were answered by then.
        answered: u64,
    },
    /// Nothing moved on any connection for too long.
    Stalled {
        /// How long nothing moved.
        waited: Duration,
        /// What was being waited for.
        what: String,
    },
    /// A call that failed.
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// Something that was asked for cannot be done.
    Refused(String),
}

impl Failure {
    /// An error of the system while `what` was tried.
    pub fn io(what: impl Into<String>, error: impl Into<std::io::Error>) -> Self {
        Failure::Io { what: what.into(), error: error.into() }
    }
}

/// The start of `bytes` in printable form.
fn shown(bytes: &[u8]) -> String {
    let cut = bytes.len() > SHOWN_BYTES;
    let start = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let more = if cut { format!("… ({} bytes)", bytes.len()) } else { String::new() };
    format!("\"{}\"{more}", start.escape_ascii())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong { connection, reply, due, came } => {
                let at = due.iter().zip(came).take_while(|(a, b)| a == b).count();
                write!(
                    f,
                    "wrong reply {reply} on connection {connection}, at its byte {at}: due {}, came {}",
                    shown(due),
                    shown(came)
                )
            }
            Failure::Unasked { connection, came } => {
                write!(f, "bytes on connection {connection} that answer no line: {}", shown(came))
            }
            Failure::Closed { connection, answered } => {
                write!(f, "the server ended connection {connection} after {answered} answered lines")
            }
            Failure::Stalled { waited, what } => {
                write!(f, "nothing moved for {:.1} s: {what}", waited.as_secs_f64())
            }
            Failure::Io { what, error } => write!(f, "{what}: {error}"),
            Failure::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}
