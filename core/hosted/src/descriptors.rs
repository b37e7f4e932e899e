//! The limit of open descriptors, which is the limit of connections.

/// Raises the soft limit of open descriptors to the hard one and says what it is now; `u64::MAX` is no limit, None a
/// system that has none to raise (Windows).
///
/// The soft limit is low (often 1024) for the sake of programs that use select(2), which breaks above it; these
/// servers do not. Where it cannot be raised it stays as it is: that is no reason not to serve.
#[cfg(unix)]
pub fn raise_descriptor_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// macOS: OPEN_MAX of its <sys/syslimits.h>. setrlimit(2) there refuses a soft limit above it with EINVAL although
    /// it gives the hard limit as infinite.
    const OPEN_MAX: u64 = 10_240;

    let limit = getrlimit(Resource::Nofile);
    for wanted in [limit.maximum, Some(OPEN_MAX)] {
        if is_at_least(limit.current, wanted) {
            break;
        }
        let raised = Rlimit { current: wanted, maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            break;
        }
    }
    Some(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
}

/// Whether a limit is as high as another; None is infinite.
#[cfg(unix)]
fn is_at_least(one: Option<u64>, other: Option<u64>) -> bool {
    one.unwrap_or(u64::MAX) >= other.unwrap_or(u64::MAX)
}

/// There is no such limit here.
#[cfg(not(unix))]
pub fn raise_descriptor_limit() -> Option<u64> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::is_at_least;

    #[test]
    fn no_limit_is_at_least_all_others() {
        assert!(is_at_least(None, None) && is_at_least(None, Some(1)) && is_at_least(Some(2), Some(2)));
        assert!(!is_at_least(Some(1), None) && !is_at_least(Some(1), Some(2)));
    }
}
