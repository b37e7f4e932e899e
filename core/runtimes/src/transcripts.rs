//! The conversations that every runtime replays.

use std::fs;
use std::io;
use std::path::Path;

use evserver_conformance::transcript::Transcript;

/// A conversation and the name of its file.
pub struct Named {
    /// The file's name, without its ending.
    pub name: String,
    text: String,
}

impl Named {
    /// The conversation.
    ///
    /// # Panics
    /// When the file breaks the rules of the format.
    pub fn transcript(&self) -> Transcript<'_> {
        Transcript::parse(&self.text).unwrap_or_else(|mistake| panic!("{}: {mistake}", self.name))
    }
}

/// All conversations of the suite, by name.
///
/// # Errors
/// When the folder, which lies beside this package's, cannot be read.
pub fn transcripts() -> io::Result<Vec<Named>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/transcripts"));
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt")
            && let Some(name) = path.file_stem()
        {
            let name = name.to_string_lossy().into_owned();
            all.push(Named { name, text: fs::read_to_string(&path)? });
        }
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_found_and_follow_the_format() {
        let all = transcripts().unwrap();
        assert!(all.len() >= 21);
        for named in &all {
            assert!(named.transcript().server_bytes().count() >= b"ready\n".len(), "{}", named.name);
        }
        assert!(all.iter().any(|named| named.name == "longest-line"));
    }
}
