//! Signals: their actions and the mask.

use std::io;

use libc::c_int;

use super::check;
#[cfg(test)]
pub use asked::{is_blocked, is_default, send_to_this_thread};

/// The signals that ask for a line of counts. SIGINFO is what the terminal's status key sends.
#[cfg(not(emulated))]
pub const REPORT_SIGNALS: &[c_int] = &[libc::SIGUSR1, libc::SIGINFO];

/// Linux has no SIGINFO.
#[cfg(emulated)]
pub const REPORT_SIGNALS: &[c_int] = &[libc::SIGUSR1];

/// A set of signals.
#[derive(Clone, Copy)]
pub struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// These signals.
    pub fn of(signals: &[c_int]) -> Self {
        // SAFETY: sigemptyset(3) initialises the set before it is used; all zeroes is a valid sigset_t to begin with.
        let mut set = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            set
        };
        for &signal in signals {
            // SAFETY: sigaddset(3) changes the set it is given; an unknown number is an error and adds nothing.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
        Self(set)
    }

    /// Whether a signal is in it.
    pub fn contains(&self, signal: c_int) -> bool {
        // SAFETY: sigismember(3) reads the set it is given.
        unsafe { libc::sigismember(&self.0, signal) == 1 }
    }
}

/// What is done on a signal.
#[derive(Clone, Copy)]
pub struct SignalAction(libc::sigaction);

impl SignalAction {
    fn default_action() -> Self {
        // SAFETY: all zeroes is a valid sigaction: the default action (SIG_DFL is 0) with no flags and no mask.
        Self(unsafe { std::mem::zeroed() })
    }
}

/// Whether a signal is ignored, as it is under nohup(1): sigaction(2).
pub fn is_ignored(signal: c_int) -> bool {
    let mut action = SignalAction::default_action();
    // SAFETY: sigaction(2) with no new action writes the present one to `action`.
    unsafe { libc::sigaction(signal, std::ptr::null(), &mut action.0) };
    action.0.sa_sigaction == libc::SIG_IGN
}

/// Gives a signal a handler that does nothing, and returns the action from before: sigaction(2).
pub fn catch_signal(signal: c_int) -> io::Result<SignalAction> {
    extern "C" fn nothing(_: c_int) {}

    let mut action = SignalAction::default_action();
    action.0.sa_sigaction = nothing as *const () as libc::sighandler_t;
    // Other threads' calls are not to fail because of it.
    action.0.sa_flags = libc::SA_RESTART;
    action.0.sa_mask = SignalSet::of(&[]).0;
    let mut before = SignalAction::default_action();
    // SAFETY: sigaction(2) reads the one action and writes the other; both live through the call, and the handler for as
    // long as the program.
    check(unsafe { libc::sigaction(signal, &action.0, &mut before.0) })?;
    Ok(before)
}

/// Puts an action from before back.
pub fn restore_signal(signal: c_int, action: &SignalAction) {
    // SAFETY: sigaction(2) reads the action, which was in force before; no old one is asked for.
    unsafe { libc::sigaction(signal, &action.0, std::ptr::null_mut()) };
}

/// Blocks signals for this thread and those that it starts, and returns the mask from before: pthread_sigmask(3).
pub fn block_signals(signals: &SignalSet) -> io::Result<SignalSet> {
    set_signal_mask(libc::SIG_BLOCK, signals)
}

/// Lets signals through in this thread.
pub fn unblock_signals(signals: &SignalSet) -> io::Result<()> {
    set_signal_mask(libc::SIG_UNBLOCK, signals).map(drop)
}

/// Puts a mask from before back.
pub fn restore_signals(mask: &SignalSet) {
    let _ = set_signal_mask(libc::SIG_SETMASK, mask);
}

fn set_signal_mask(how: c_int, signals: &SignalSet) -> io::Result<SignalSet> {
    let mut before = SignalSet::of(&[]);
    // SAFETY: pthread_sigmask(3) reads the one set and writes the other; both live through the call.
    match unsafe { libc::pthread_sigmask(how, &signals.0, &mut before.0) } {
        0 => Ok(before),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The signals that wait because they are blocked: sigpending(2).
pub fn pending_signals() -> SignalSet {
    let mut pending = SignalSet::of(&[]);
    // SAFETY: sigpending(2) writes one set. With a valid one it cannot fail.
    unsafe { libc::sigpending(&mut pending.0) };
    pending
}

/// Sends this process a signal: kill(2), which everyone may do to themselves.
pub fn send_to_self(signal: c_int) {
    // SAFETY: kill(2) and getpid(2) take no pointers.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// What only tests ask.
#[cfg(test)]
mod asked {
    use super::{SignalAction, SignalSet, block_signals, c_int};

    /// raise(3).
    pub fn send_to_this_thread(signal: c_int) {
        // SAFETY: raise(3) takes no pointers.
        unsafe { libc::raise(signal) };
    }

    /// Whether this thread blocks a signal.
    pub fn is_blocked(signal: c_int) -> bool {
        block_signals(&SignalSet::of(&[])).is_ok_and(|mask| mask.contains(signal))
    }

    /// Whether a signal has its default action: sigaction(2).
    pub fn is_default(signal: c_int) -> bool {
        let mut action = SignalAction::default_action();
        // SAFETY: sigaction(2) with no new action writes the present one to `action`.
        unsafe { libc::sigaction(signal, std::ptr::null(), &mut action.0) };
        action.0.sa_sigaction == libc::SIG_DFL
    }
}
