//! What a process writes, collected while it runs.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::NotPassed;

/// Kept of one stream; a server that says more than this has gone mad, and the rest is read and dropped.
const KEPT_BYTES: usize = 1 << 20;

/// One stream of a process, readable at any time.
#[derive(Clone, Default)]
pub struct Output {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    length: usize,
    closed: bool,
}

impl Output {
    /// Collects in a thread of its own until the stream ends.
    pub(super) fn collect(mut stream: impl Read + Send + 'static) -> Output {
        let output = Output::default();
        let writer = output.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error ends the stream as well as its end does.
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                writer.change(|state| {
                    let room = KEPT_BYTES.saturating_sub(state.bytes.len()).min(length);
                    state.bytes.extend_from_slice(&buffer[..room]);
                    state.length += length;
                });
            }
            writer.change(|state| state.closed = true);
        });
        output
    }

    /// A stream that nobody collects: closed, and empty.
    pub(super) fn none() -> Output {
        let output = Output::default();
        output.change(|state| state.closed = true);
        output
    }

    /// All that came so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock().bytes).into_owned()
    }

    /// The complete lines that came so far.
    pub fn lines(&self) -> Vec<String> {
        lines_of(&self.lock().bytes)
    }

    /// How many bytes came, kept or not.
    pub fn length(&self) -> usize {
        self.lock().length
    }

    /// Waits until `find` finds something in the lines.
    ///
    /// # Errors
    /// When it has not by the end of the stream, or within the limit.
    pub fn wait_for<T>(
        &self,
        what: &str,
        limit: Duration,
        find: impl Fn(&[String]) -> Option<T>,
    ) -> Result<T, NotPassed> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(found) = find(&lines_of(&state.bytes)) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.closed || left.is_zero() {
                let why = if state.closed { "the stream has ended".into() } else { format!("waited {limit:?}") };
                let text = String::from_utf8_lossy(&state.bytes);
                return Err(NotPassed::failed(format!("no {what} ({why}); what came: {text:?}")));
            }
            state = self.wait(state, left);
        }
    }

    /// Waits for the stream's end: every process that holds it has ended.
    pub fn wait_closed(&self, limit: Duration) -> Result<(), NotPassed> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        while !state.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NotPassed::failed("the process has ended, but something holds its output open"));
            }
            state = self.wait(state, left);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        self.shared.1.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.shared.1.notify_all();
    }
}

/// The complete lines; what follows the last newline is not one yet.
fn lines_of(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_complete_ones() {
        let output = Output::collect(&b"one\n\ntwo"[..]);
        output.wait_closed(Duration::from_secs(10)).unwrap();
        assert_eq!(output.lines(), ["one", ""]);
        assert_eq!(output.text(), "one\n\ntwo");
        let found = output.wait_for("line", Duration::ZERO, |lines| lines.first().cloned());
        assert_eq!(found.unwrap(), "one");
        let missing = output.wait_for("third line", Duration::ZERO, |lines| lines.get(2).cloned());
        assert!(missing.is_err());
        assert!(Output::none().lines().is_empty());
    }
}
