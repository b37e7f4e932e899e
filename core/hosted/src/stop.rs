//! Stopping a server, or asking how it does, from outside its loop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::waker::{WakeSource, Waker};

/// Stops a server, or asks it for a line of counts; clones are handles of the same server.
///
/// The three requests may be made from any thread and, on Unix, from a signal handler: each is an atomic store, an
/// atomic exchange and at most one write(2) of one byte to a non-blocking socket ([`Waker::wake`]); no lock,
/// no allocation, errno untouched. Elsewhere they take a lock for a moment. Each may be made at any time and any
/// number of times: before the server runs it acts on it as soon as it does, after its end it has no effect.
///
/// ```
/// let stop = evserver_hosted::StopHandle::new()?;
/// let from_elsewhere = stop.clone();
/// std::thread::spawn(move || from_elsewhere.drain());
/// let requests = stop.wait()?;
/// assert!(requests.drain && !requests.stop_now);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StopHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    drain: AtomicBool,
    stop_now: AtomicBool,
    report: AtomicBool,
    waker: Waker,
    source: WakeSource,
}

/// What was asked of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Take no new clients, answer what was received, then end. It stays asked for; once more is not an escalation.
    pub drain: bool,
    /// End now, whatever is unanswered. It stays asked for.
    pub stop_now: bool,
    /// Say a line of counts. Taken once, however often it was asked for since the last time.
    pub report: bool,
}

impl StopHandle {
    /// A handle for one server.
    ///
    /// # Errors
    ///
    /// Those of [`Waker::pair`].
    pub fn new() -> io::Result<Self> {
        let (waker, source) = Waker::pair()?;
        let flag = || AtomicBool::new(false);
        let shared = Shared { drain: flag(), stop_now: flag(), report: flag(), waker, source };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Asks the server to take no new clients, to answer what it has received, and to end.
    pub fn drain(&self) {
        self.request(&self.shared.drain);
    }

    /// Asks the server to end now.
    pub fn stop_now(&self) {
        self.request(&self.shared.stop_now);
    }

    /// Asks the server to say a line of its counts.
    pub fn report(&self) {
        self.request(&self.shared.report);
    }

    fn request(&self, flag: &AtomicBool) {
        // Release, for what the caller did before; the wake comes after, so that who is woken sees the flag.
        flag.store(true, Ordering::Release);
        self.shared.waker.wake();
    }

    /// What a loop waits on: ready from a request to the [`take`](Self::take) after it. On Unix a descriptor.
    pub fn source(&self) -> &WakeSource {
        &self.shared.source
    }

    /// Takes what was asked for, and clears the source.
    pub fn take(&self) -> Requests {
        self.shared.source.clear();
        Requests {
            drain: self.shared.drain.load(Ordering::Acquire),
            stop_now: self.shared.stop_now.load(Ordering::Acquire),
            report: self.shared.report.swap(false, Ordering::AcqRel),
        }
    }

    /// Blocks until something is asked for that was not yet taken, and takes it: for a thread with nothing else to
    /// do. A repeated request counts as one.
    ///
    /// # Errors
    ///
    /// Those of [`WakeSource::wait`].
    pub fn wait(&self) -> io::Result<Requests> {
        self.shared.source.wait(None)?;
        Ok(self.take())
    }

    /// [`wait`](Self::wait) for no longer than this; None when nothing new was asked for by then.
    ///
    /// # Errors
    ///
    /// Those of [`WakeSource::wait`].
    pub fn wait_timeout(&self, timeout: Duration) -> io::Result<Option<Requests>> {
        Ok(self.shared.source.wait(Some(timeout))?.then(|| self.take()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Only what waits for ever takes so long.
    const FOREVER: Duration = Duration::from_secs(60);

    fn is_ready(stop: &StopHandle) -> bool {
        stop.source().wait(Some(Duration::ZERO)).unwrap()
    }

    #[test]
    fn nothing_is_asked_for_at_first() {
        let stop = StopHandle::new().unwrap();
        assert!(!is_ready(&stop));
        assert_eq!(stop.take(), Requests::default());
        assert_eq!(stop.wait_timeout(Duration::from_millis(1)).unwrap(), None);
    }

    #[test]
    fn a_drain_stays_and_its_repetition_is_no_escalation() {
        let stop = StopHandle::new().unwrap();
        let drain = Requests { drain: true, ..Requests::default() };
        stop.drain();
        stop.clone().drain();
        assert!(is_ready(&stop));
        assert_eq!(stop.take(), drain);
        assert!(!is_ready(&stop), "a loop that took it is not woken again");
        assert_eq!(stop.take(), drain);
        stop.drain();
        assert_eq!(stop.wait().unwrap(), drain);
    }

    #[test]
    fn a_report_is_taken_once_and_a_stop_stays() {
        let stop = StopHandle::new().unwrap();
        stop.report();
        stop.report();
        stop.stop_now();
        assert_eq!(stop.take(), Requests { drain: false, stop_now: true, report: true });
        assert_eq!(stop.take(), Requests { drain: false, stop_now: true, report: false });
    }

    #[test]
    fn a_thread_that_waits_is_woken() {
        let stop = StopHandle::new().unwrap();
        let other = stop.clone();
        let thread = thread::spawn(move || other.report());
        let asked = stop.wait_timeout(FOREVER).unwrap().expect("it was not woken");
        assert_eq!(asked, Requests { report: true, ..Requests::default() });
        thread.join().unwrap();
    }

    /// Each report that is asked for after another was taken is taken too.
    #[test]
    fn no_request_is_lost_however_threads_run() {
        const REPORTS: usize = 20_000;
        let stop = StopHandle::new().unwrap();
        let (asked, answered) = (stop.clone(), StopHandle::new().unwrap());
        let answer = answered.clone();
        thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..REPORTS {
                    asked.report();
                    answered.wait_timeout(FOREVER).unwrap().expect("a report was not answered");
                }
                asked.drain();
            });
            let mut reports = 0;
            loop {
                let requests = stop.wait_timeout(FOREVER).unwrap().expect("a request was lost");
                reports += usize::from(requests.report);
                if requests.drain {
                    break;
                }
                answer.report();
            }
            assert_eq!(reports, REPORTS);
        });
    }

    #[test]
    fn a_handle_can_be_shared_with_any_thread() {
        fn shared<T: Clone + Send + Sync + 'static>() {}
        shared::<StopHandle>();
        shared::<Waker>();
    }
}
