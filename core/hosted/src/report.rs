//! What a server says of its work: at the end, and when asked.

use std::fmt;

use evserver_core::Counts;

/// What a server did, from its start to its end.
///
/// The first line is always `served N connections, peak concurrent M` in these words; what went wrong follows, a
/// line each, only where it happened.
///
/// ```
/// use evserver_core::Counts;
/// use evserver_hosted::Report;
///
/// let counts = Counts { served: 5, peak: 2, timed_out: 1, ..Counts::default() };
/// assert_eq!(Report { counts, at_once: false }.to_string(), "served 5 connections, peak concurrent 2\ntimed out 1");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The counts of all loops together.
    pub counts: Counts,
    /// Whether it ended at once, without waiting for its clients: the program's exit code is 1 then.
    pub at_once: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { served, open: _, peak, refused, timed_out, failed, panicked } = self.counts;
        write!(f, "served {served} connections, peak concurrent {peak}")?;
        for (what, count) in [
            ("refused (server full)", refused),
            ("timed out", timed_out),
            ("failed", failed),
            ("protocol panics", panicked),
        ] {
            if count > 0 {
                write!(f, "\n{what} {count}")?;
            }
        }
        Ok(())
    }
}

/// The counts of this moment in one line, for SIGUSR1: the same words in the same places every time.
pub fn live_line(counts: &Counts) -> String {
    let Counts { served, open, peak, refused, timed_out, failed, panicked } = counts;
    format!(
        "open {open}, served {served}, peak concurrent {peak}, refused {refused}, timed out {timed_out}, \
         failed {failed}, protocol panics {panicked}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Counts = Counts { served: 7, open: 1, peak: 3, refused: 4, timed_out: 5, failed: 6, panicked: 2 };

    #[test]
    fn a_run_without_incident_is_one_line() {
        let report = Report { counts: Counts { served: 1, open: 0, peak: 1, ..Counts::default() }, at_once: false };
        assert_eq!(report.to_string(), "served 1 connections, peak concurrent 1");
        assert_eq!(Report::default().to_string(), "served 0 connections, peak concurrent 0");
    }

    #[test]
    fn incidents_follow_the_first_line() {
        assert_eq!(
            Report { counts: ALL, at_once: false }.to_string(),
            "served 7 connections, peak concurrent 3\nrefused (server full) 4\ntimed out 5\nfailed 6\n\
             protocol panics 2"
        );
    }

    #[test]
    fn the_live_line_is_one_line_with_every_count() {
        assert_eq!(
            live_line(&ALL),
            "open 1, served 7, peak concurrent 3, refused 4, timed out 5, failed 6, protocol panics 2"
        );
    }
}
