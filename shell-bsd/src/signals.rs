//! The signals of the program, as something to watch.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use evserver_hosted::event_loop::SignalRequest;

use crate::sys::{self, Change, Filter, Kevent, Kqueue, SignalAction, SignalSet};

/// Events taken in one look: at least one for each signal that is watched.
const ROOM: usize = 8;

/// SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGINFO, noted by a queue of their own: EVFILT_SIGNAL of kqueue(2).
///
/// The filter only observes, so each gets a handler, which does nothing: a signal that is ignored would stay ignored
/// in the programs that this one starts, one with a handler has its default action there. Made by `main` before any
/// thread starts. A SIGINT or SIGHUP that was ignored when the program started stays so (nohup(1), a shell's `&`); a
/// SIGTERM that was blocked is let through in this thread, and noted also if it came before that. Dropping it restores
/// the actions and the mask.
pub struct Signals {
    queue: Kqueue,
    actions: Vec<(i32, SignalAction)>,
    mask: SignalSet,
    /// Signals to stop that were noted and not yet handed on.
    stops: u64,
    /// A report was asked for.
    report: bool,
}

impl Signals {
    /// Catches the signals from now on.
    pub fn catch() -> io::Result<Self> {
        let kept = |signal: &i32| !(matches!(*signal, libc::SIGINT | libc::SIGHUP) && sys::is_ignored(*signal));
        let stops = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
        let signals: Vec<_> = stops.into_iter().chain(sys::REPORT_SIGNALS.iter().copied()).filter(kept).collect();
        let set = SignalSet::of(&signals);
        let queue = Kqueue::new()?;
        // Between the handler and the queue a signal would be lost; blocked it waits.
        let mask = sys::block_signals(&set)?;
        let mut caught = Self { queue, actions: Vec::new(), mask, stops: 0, report: false };
        for &signal in &signals {
            caught.actions.push((signal, sys::catch_signal(signal)?));
        }
        let watch = |&signal: &i32| Kevent::change(Change::Add, signal as usize, Filter::Signal, 0);
        caught.queue.apply(&signals.iter().map(watch).collect::<Vec<_>>())?;
        caught.note_early(&signals);
        sys::unblock_signals(&set)?;
        Ok(caught)
    }

    /// Has what came before the queue watched noted too, which is pending now; once each, as the kernel keeps it.
    ///
    /// What is pending may have been noted or not. So what was noted is thrown away, and what was either is sent
    /// again: that is noted, and merges with the pending one.
    fn note_early(&mut self, signals: &[i32]) {
        let pending = sys::pending_signals();
        let noted: Vec<_> = self.look().iter().map(Kevent::ident).collect();
        for &signal in signals {
            if pending.contains(signal) || noted.contains(&(signal as usize)) {
                sys::send_to_self(signal);
            }
        }
    }

    /// What the next signal that arrived asks for.
    pub(crate) fn next(&mut self) -> Option<SignalRequest> {
        if self.stops == 0 && !self.report {
            for event in self.look() {
                self.note(&event);
            }
        }
        if self.stops > 0 {
            self.stops -= 1;
            return Some(SignalRequest::Stop);
        }
        std::mem::take(&mut self.report).then_some(SignalRequest::Report)
    }

    fn look(&self) -> Vec<Kevent> {
        let mut events = vec![Kevent::default(); ROOM];
        // An error leaves the queue as it is: the poller reports it again.
        let count = self.queue.wait(&[], &mut events, Some(0)).unwrap_or(0);
        events.truncate(count);
        events
    }

    /// An event counts the signals since the last one. Each that is to stop is a request of its own: the second one
    /// ends at once. Two reports at one moment would say the same.
    fn note(&mut self, event: &Kevent) {
        if sys::REPORT_SIGNALS.contains(&(event.ident() as i32)) {
            self.report = true;
        } else {
            self.stops += u64::try_from(event.data()).unwrap_or(0).max(1);
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, action) in &self.actions {
            sys::restore_signal(*signal, action);
        }
        sys::restore_signals(&self.mask);
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use SignalRequest::{Report, Stop};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::sync::{PoisonError, RwLock, RwLockReadGuard};

    /// Held for writing while a test sends signals, which any thread may get.
    static SENDING: RwLock<()> = RwLock::new(());

    /// While this lives no test sends a signal, which would end a wait early.
    pub fn no_signals() -> RwLockReadGuard<'static, ()> {
        SENDING.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the queue has something to look at; only a failing test waits long.
    fn wait(signals: &Signals) {
        let outer = Kqueue::new().unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&signals.as_fd()) as usize;
        outer.apply(&[Kevent::change(Change::Add, fd, Filter::Read, 0)]).unwrap();
        let mut events = [Kevent::default()];
        // A handler that runs ends a wait with no event.
        while outer.wait(&[], &mut events, Some(20_000)).unwrap() == 0 {}
    }

    fn all(signals: &mut Signals) -> Vec<SignalRequest> {
        std::iter::from_fn(|| signals.next()).collect()
    }

    /// One test, since signals are the whole process's.
    #[test]
    fn signals_are_noted_counted_and_given_back() {
        let _sending = SENDING.write().unwrap_or_else(PoisonError::into_inner);
        // One that came while it was blocked, before anybody watched.
        let terminate = SignalSet::of(&[libc::SIGTERM]);
        let mask = sys::block_signals(&terminate).unwrap();
        sys::send_to_this_thread(libc::SIGTERM);

        let mut signals = Signals::catch().unwrap();
        wait(&signals);
        assert_eq!(all(&mut signals), [Stop]);
        assert!(!sys::pending_signals().contains(libc::SIGTERM));

        // Two in one event.
        signals.note(&Kevent::event(libc::SIGTERM as usize, Filter::Signal, 0, 2));
        signals.note(&Kevent::event(libc::SIGUSR1 as usize, Filter::Signal, 0, 3));
        assert_eq!(all(&mut signals), [Stop, Stop, Report]);
        signals.note(&Kevent::event(libc::SIGHUP as usize, Filter::Signal, 0, 1));
        signals.note(&Kevent::event(libc::SIGINT as usize, Filter::Signal, 0, 1));
        assert_eq!(all(&mut signals), [Stop, Stop]);

        for (signal, request) in [(libc::SIGINT, Stop), (libc::SIGHUP, Stop), (libc::SIGUSR1, Report)] {
            sys::send_to_this_thread(signal);
            wait(&signals);
            assert_eq!(all(&mut signals), [request], "{signal}");
        }

        // A program that is started now has the default action, and nothing blocked.
        let child = Command::new("sh").args(["-c", "kill -TERM $$; exit 7"]).status().unwrap();
        assert_eq!(child.signal(), Some(libc::SIGTERM), "{child}");

        drop(signals);
        assert!(sys::is_blocked(libc::SIGTERM), "the mask is as before");
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
            assert!(sys::is_default(signal), "the action on {signal} is as before");
        }
        sys::restore_signals(&mask);
    }
}
