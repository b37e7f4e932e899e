//! Lines for standard output and standard error that never hold a server up.
//!
//! A loop that serves ten thousand clients must not wait for whoever reads its log. So a line is written whole
//! in one go if there is room for it at once, else it is dropped; output that is closed, full or slow neither
//! blocks nor panics (as `println!` would do). What a server says is advice; what it serves is not.
//!
//! None of it lands in a client's socket. When a program starts with descriptor 0, 1 or 2 closed, Rust's runtime
//! opens `/dev/null` there before `main`, so that no socket ever gets those numbers (the source of `std`,
//! `sys/pal/unix`); `tests/output.rs` holds it to that. The same runtime ignores SIGPIPE, so a reader that has gone
//! is an error here and not the end of the program. A program whose `main` is not Rust's owes both itself.
//!
//! Do not mix these with `println!`: that goes through a buffer of its own.

use std::fmt;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

#[cfg(not(unix))]
mod plain;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use plain as system;
#[cfg(unix)]
use unix as system;
#[cfg(unix)]
pub use unix::write_line;

/// How long help or usage may wait for a reader before the rest of it is dropped; nothing is served meanwhile.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Writes a line to standard output, the newline added; whole and at once, or not at all.
///
/// The line may hold newlines of its own, as a report of several lines does; it still goes out in one piece.
pub fn out(line: &str) {
    system::line_to_output(line);
}

/// Writes a line to standard error, the newline added; whole and at once, or not at all.
pub fn err(line: &str) {
    system::line_to_error(line);
}

/// The program's name, in front of what its server says.
static PROGRAM: OnceLock<String> = OnceLock::new();

/// From now on [`warn`] says `name: message`. The first name stays.
pub fn set_program(name: &str) {
    PROGRAM.get_or_init(|| name.to_owned());
}

/// Says on standard error what a server has to say while it serves: `evserver: message`, or with the name of the
/// program that called [`set_program`].
pub fn warn(message: impl fmt::Display) {
    err(&format!("{}: {message}", PROGRAM.get().map_or("evserver", String::as_str)));
}

/// Says why a program ends, as `evserver: message` on standard error, and gives its exit status 1.
pub fn fail(program: &str, message: impl fmt::Display) -> ExitCode {
    err(&format!("{program}: {message}"));
    ExitCode::FAILURE
}

/// Writes a text of any length to standard output, giving its reader [`PATIENCE`]; for before anything is served.
pub(crate) fn out_text(text: &str) {
    system::text_to_output(text, PATIENCE);
}

/// Like [`out_text`], to standard error.
pub(crate) fn err_text(text: &str) {
    system::text_to_error(text, PATIENCE);
}
