//! Counting the deliveries of signals beside whatever the program does on them.
//!
//! A BSD kernel notes a signal before it is delivered, whatever becomes of it.
//! Here two things together come close:
//!
//! - A handler of ours stands before the program's own: it adds one to the
//!   eventfd of each queue that watches the signal, then calls the program's
//!   handler. Where the signal's default action ends or stops the process, and
//!   the program has no handler, none is put there: the kernel acts, as it would
//!   on a BSD.
//! - A signal that is blocked reaches no handler. A signalfd shows those, and
//!   what is read from it is counted in the same way.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use libc::{c_int, c_void, siginfo_t};

use super::kernel::{self, Errno};

/// The highest signal number of Linux; signal(7).
const LAST_SIGNAL: c_int = 64;

/// Pairs of a queue and a signal at one time. The handler looks at all of them,
/// so they are few; a program has a handful.
const MAX_WATCHES: usize = 128;

/// Who wants to know: signal number in the upper half, eventfd in the lower, 0
/// for nobody. Atomic because the handler reads it.
static WATCHES: [AtomicU64; MAX_WATCHES] = [const { AtomicU64::new(0) }; MAX_WATCHES];

/// Handlers that are reading `WATCHES` at the moment: while there are any, no
/// eventfd that they may have seen is closed.
static COUNTING: AtomicUsize = AtomicUsize::new(0);

/// What the program itself does on a signal, for our handler to call.
struct Own {
    handler: AtomicUsize,
    takes_info: AtomicBool,
}

static OWN: [Own; LAST_SIGNAL as usize + 1] =
    [const { Own { handler: AtomicUsize::new(libc::SIG_DFL), takes_info: AtomicBool::new(false) } };
        LAST_SIGNAL as usize + 1];

/// Held while dispositions and `WATCHES` are changed (never in the handler):
/// what the program had for each signal that we stand before.
static REPLACED: Mutex<[Option<libc::sigaction>; LAST_SIGNAL as usize + 1]> =
    Mutex::new([const { None }; LAST_SIGNAL as usize + 1]);

/// One queue's interest in one signal; dropping it ends the interest.
pub(super) struct Watch {
    signal: c_int,
    slot: usize,
    /// Counts deliveries; a handler may be writing to it until the drop is done.
    counter: OwnedFd,
    /// Readable while the signal is pending because it is blocked.
    pending: OwnedFd,
}

impl Watch {
    /// Starts to count deliveries of `signal`.
    pub(super) fn new(signal: c_int) -> Result<Self, Errno> {
        if !(1..=LAST_SIGNAL).contains(&signal) {
            return Err(libc::EINVAL);
        }
        let counter = kernel::new_event(0)?;
        let pending = kernel::new_signal_descriptor(signal)?;
        let entry = (signal as u64) << 32 | counter.as_raw_fd() as u64;
        let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = WATCHES.iter().position(|watch| watch.load(SeqCst) == 0).ok_or(libc::ENOMEM)?;
        WATCHES[slot].store(entry, SeqCst);
        if let Err(error) = stand_before(signal, &mut replaced) {
            WATCHES[slot].store(0, SeqCst);
            return Err(error);
        }
        Ok(Self { signal, slot, counter, pending })
    }

    /// Stands before the program's handler again, if it has set one since.
    pub(super) fn renew(&self) -> Result<(), Errno> {
        let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        stand_before(self.signal, &mut replaced)
    }

    /// The descriptor that deliveries are counted in.
    pub(super) fn counter(&self) -> &OwnedFd {
        &self.counter
    }

    /// The descriptor that is readable when a blocked signal is pending.
    pub(super) fn pending(&self) -> &OwnedFd {
        &self.pending
    }

    /// Counts the blocked signals that are pending, and takes them away.
    pub(super) fn note_blocked(&self) {
        // Only what this thread blocks is taken from the kernel: anything else
        // is on its way to a handler, which will count it.
        if kernel::is_blocked(self.signal) {
            while kernel::take_signal(&self.pending) {
                count_delivery(self.signal);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
        WATCHES[self.slot].store(0, SeqCst);
        // A handler in another thread may have read the entry just before. It
        // only writes eight bytes, and a handler in this thread has returned.
        while COUNTING.load(SeqCst) != 0 {
            std::thread::yield_now();
        }
        let signal = self.signal as u64;
        if WATCHES.iter().all(|watch| watch.load(SeqCst) >> 32 != signal) {
            step_aside(self.signal, &mut replaced);
        }
    }
}

type Replaced = [Option<libc::sigaction>; LAST_SIGNAL as usize + 1];

/// Puts our handler in the place of the program's, unless it is there or the
/// kernel does the same as on a BSD without it.
fn stand_before(signal: c_int, replaced: &mut Replaced) -> Result<(), Errno> {
    let own = disposition(signal)?;
    let ignored = own.sa_sigaction == libc::SIG_IGN;
    let default = own.sa_sigaction == libc::SIG_DFL;
    if is_ours(&own)
        || default && !is_harmless(signal)
        // The filter does not record an ignored SIGCHLD; kqueue(2). A handler
        // would also turn children that vanish into zombies; sigaction(2).
        || ignored && signal == libc::SIGCHLD
    {
        return Ok(());
    }
    let entry = &OWN[signal as usize];
    let takes_info = own.sa_flags & libc::SA_SIGINFO != 0;
    entry.handler.store(own.sa_sigaction, SeqCst);
    entry.takes_info.store(takes_info, SeqCst);
    let mut ours = own;
    ours.sa_sigaction = on_signal as *const () as libc::sighandler_t;
    ours.sa_flags |= libc::SA_SIGINFO;
    if ignored || default {
        // Nothing is interrupted by a signal that nobody handles.
        ours.sa_flags |= libc::SA_RESTART;
    }
    set_disposition(signal, &ours)?;
    replaced[signal as usize] = Some(own);
    Ok(())
}

/// Gives the program its own handler back, unless it has set one since.
fn step_aside(signal: c_int, replaced: &mut Replaced) {
    let Some(own) = replaced[signal as usize].take() else {
        return;
    };
    if disposition(signal).is_ok_and(|now| is_ours(&now)) {
        // It was in force before, so it cannot be refused now.
        let _ = set_disposition(signal, &own);
    }
}

/// Signals whose default action leaves the process alone; signal(7).
fn is_harmless(signal: c_int) -> bool {
    matches!(signal, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH)
}

fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == on_signal as *const () as libc::sighandler_t
}

fn disposition(signal: c_int) -> Result<libc::sigaction, Errno> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: with a null new action only the old one is written, and it is
    // valid when the call succeeds; sigaction(2).
    unsafe {
        match libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) {
            0 => Ok(action.assume_init()),
            _ => Err(kernel::errno()),
        }
    }
}

fn set_disposition(signal: c_int, action: &libc::sigaction) -> Result<(), Errno> {
    // SAFETY: `action` is the program's own or has `on_signal`, which does only
    // what signal-safety(7) allows and lives as long as the program;
    // sigaction(2).
    match unsafe { libc::sigaction(signal, action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(kernel::errno()),
    }
}

/// Adds one to the counter of everybody who watches `signal`. Safe in a signal
/// handler: atomics and write(2) only.
fn count_delivery(signal: c_int) {
    COUNTING.fetch_add(1, SeqCst);
    for watch in &WATCHES {
        let entry = watch.load(SeqCst);
        if entry >> 32 == signal as u64 {
            kernel::count_one(entry as u32 as c_int);
        }
    }
    COUNTING.fetch_sub(1, SeqCst);
}

/// Our handler: counts, then does what the program does on this signal.
extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // write(2) may set errno under the code that was interrupted.
    let before = kernel::errno();
    count_delivery(signal);
    let own = &OWN[signal as usize];
    let handler = own.handler.load(SeqCst);
    kernel::set_errno(before);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        return;
    }
    // SAFETY: sigaction(2) handed this address out as the program's handler for
    // this signal, in the form that SA_SIGINFO tells; it is called as the kernel
    // would call it.
    unsafe {
        if own.takes_info.load(SeqCst) {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}
