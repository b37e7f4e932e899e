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

/// Raises this process's own limit of descriptors, for a case with so many clients.
///
/// # Errors
/// Skips loudly where the hard limit is too low.
pub fn need_descriptors(count: usize) -> Result<(), NotPassed> {
    /// For everything else that this process has open, other cases included.
    const OTHERS: usize = 1000;
    let allowed = allow_all();
    if allowed.is_none_or(|allowed| allowed >= (count + OTHERS) as u64) {
        return Ok(());
    }
    Err(NotPassed::skipped_loudly(format!("{count} clients need more descriptors than this process may have")))
}

/// Raises the soft limit to the hard one, and says how many descriptors that is; `None` is no limit, or none known.
#[cfg(unix)]
fn allow_all() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // A hard limit that cannot be had as a soft one (macOS) leaves things as they are.
    if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current }
}

#[cfg(not(unix))]
fn allow_all() -> Option<u64> {
    None
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

    #[cfg(unix)]
    #[test]
    fn descriptors_are_had_or_missed() {
        let some = allow_all().map_or(1, |allowed| (allowed as usize).saturating_sub(2000));
        assert!(need_descriptors(some).is_ok());
        if allow_all().is_some() {
            assert!(matches!(need_descriptors(1 << 40), Err(NotPassed::Skipped { loud: true, .. })));
        }
    }
}
