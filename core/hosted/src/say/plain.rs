//! Systems without poll(2): a plain write, errors ignored. A full pipe does block here.

use std::io::{self, Write};
use std::time::Duration;

pub(super) fn line_to_output(line: &str) {
    write_all(io::stdout().lock(), &format!("{line}\n"));
}

pub(super) fn line_to_error(line: &str) {
    write_all(io::stderr().lock(), &format!("{line}\n"));
}

pub(super) fn text_to_output(text: &str, _patience: Duration) {
    write_all(io::stdout().lock(), text);
}

pub(super) fn text_to_error(text: &str, _patience: Duration) {
    write_all(io::stderr().lock(), text);
}

/// What cannot be written has no one to be told to.
fn write_all(mut output: impl Write, text: &str) {
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}
