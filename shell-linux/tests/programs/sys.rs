//! What a program with a signal handler of its own needs: a handler, and a look at its mask.

use std::sync::OnceLock;

use evserver_linux::StopHandle;

static STOP: OnceLock<StopHandle> = OnceLock::new();

/// Has SIGTERM drain the server, by a handler in whichever thread it hits: sigaction(2).
pub fn drain_on_sigterm(stop: StopHandle) {
    let _ = STOP.set(stop);
    // SAFETY: all zeroes is a valid sigaction to begin with; the handler does only what is safe in one (see
    // `StopHandle`) and reads a static that is never changed again.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_sigterm as *const () as usize;
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
    }
}

extern "C" fn on_sigterm(_: libc::c_int) {
    if let Some(stop) = STOP.get() {
        stop.drain();
    }
}

/// The signals of 1 to 31 that this thread blocks: pthread_sigmask(3).
pub fn blocked_signals() -> Vec<libc::c_int> {
    // SAFETY: without a new mask pthread_sigmask(3) only writes the present one.
    let mask = unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        mask
    };
    // SAFETY: sigismember(3) reads the set.
    (1..32).filter(|&signal| unsafe { libc::sigismember(&mask, signal) } == 1).collect()
}
