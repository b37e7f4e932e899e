//! A line of progress for a person who waits.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Often enough to see movement, seldom enough to cost nothing.
const INTERVAL: Duration = Duration::from_millis(200);

/// Shows progress on standard error if that is a terminal, else nothing.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
    start: Instant,
    shown: Option<Instant>,
}

impl Progress {
    /// Starts counting time.
    pub fn start() -> Self {
        Progress { terminal: stderr().is_terminal(), start: Instant::now(), shown: None }
    }

    /// Shows nothing, for work whose caller shows its own.
    pub fn silent() -> Self {
        Progress { terminal: false, start: Instant::now(), shown: None }
    }

    /// Shows `text` even right after another one.
    pub fn show_now(&mut self, text: String) {
        self.shown = None;
        self.show(|| text);
    }

    /// Shows what `text` says, unless the last showing is fresh.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        if !self.terminal || self.shown.is_some_and(|shown| shown.elapsed() < INTERVAL) {
            return;
        }
        self.shown = Some(Instant::now());
        // Progress that cannot be written is no reason to stop.
        let _ = write!(stderr(), "\r\x1b[K{} ({:.0} s)", text(), self.start.elapsed().as_secs_f64());
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
