//! What the programs of the shells have in common: from listening sockets to the exit code.

use std::io;
use std::process::ExitCode;

use crate::listen::{ListenError, Listening};
use crate::raise_descriptor_limit;
use crate::reason::reason;
use crate::report::Report;
use crate::say;

/// Opens the listeners, says where they listen, serves, and says the report; the program's exit code is 0 after an
/// orderly end, 1 after an error or an end at once. `name` stands in front of what it says on standard error.
pub fn program(
    name: &str,
    open: impl FnOnce() -> Result<Vec<Listening>, ListenError>,
    serve: impl FnOnce(Vec<Listening>) -> io::Result<Report>,
) -> ExitCode {
    say::set_program(name);
    raise_descriptor_limit();
    let listeners = match open() {
        Ok(listeners) => listeners,
        Err(error) => return say::fail(name, error),
    };
    for listening in &listeners {
        say::out(&format!("listening on {}", listening.address));
    }
    match serve(listeners) {
        Ok(report) => {
            say::out(&report.to_string());
            if report.at_once { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => say::fail(name, format_args!("cannot serve: {}", reason(&error))),
    }
}
