//! The words of an error, for a person.

use std::io;

/// What went wrong, in the system's words and without what only a programmer reads: the number that Rust adds
/// (` (os error 98)`) and its preface to what the resolver says.
///
/// ```
/// let taken = std::io::Error::other("Address already in use (os error 98)");
/// assert_eq!(evserver_hosted::reason(&taken), "Address already in use");
/// ```
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
    let words = match text.rsplit_once(" (os error ") {
        Some((words, number)) if number.ends_with(')') => words,
        _ => text,
    };
    // Windows ends its sentences.
    words.trim_end().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_and_the_preface_go() {
        for (text, words) in [
            ("Permission denied (os error 13)", "Permission denied"),
            ("failed to lookup address information: Name or service not known", "Name or service not known"),
            ("No such host is known. (os error 11001)", "No such host is known"),
            ("plain", "plain"),
            ("odd (os error 1", "odd (os error 1"),
        ] {
            assert_eq!(reason(&io::Error::other(text)), words);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_real_error_of_the_system_loses_its_number() {
        let denied = io::Error::from_raw_os_error(rustix::io::Errno::ACCESS.raw_os_error());
        assert_eq!(reason(&denied), "Permission denied");
    }
}
