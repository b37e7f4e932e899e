//! The programs that cases borrow from the system.

use std::path::PathBuf;

use crate::NotPassed;

/// Whether the program is in `PATH`.
pub fn have(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder: PathBuf| folder.join(program).is_file()))
}

/// Skips the case loudly when the program is missing.
pub fn need(program: &str) -> Result<(), NotPassed> {
    if have(program) {
        return Ok(());
    }
    Err(NotPassed::skipped_loudly(format!("{program} is not installed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        assert!(need("cargo").is_ok());
        let missing = need("no-such-program-anywhere");
        assert!(matches!(missing, Err(NotPassed::Skipped { loud: true, .. })), "{missing:?}");
    }
}
