//! SIGINT, SIGTERM, SIGHUP and SIGUSR1, through signal-hook.

use std::io;
use std::thread;

use evserver_hosted::StopHandle;
use nix::sys::signal::{SigSet, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::ignored::is_ignored;

/// Has the program's signals stop a server, or ask it for its counts, from now on.
///
/// A SIGINT or SIGHUP that was ignored when the program started stays so (nohup(1), a shell's `&`). The signals are
/// handled, and neither blocked nor ignored: programs that are started later get the default actions (execve(2)), and
/// a mask that this program was started with is only changed for the thread that takes the signals, so that one that
/// came with it blocked is handled all the same.
pub fn obey(stop: StopHandle) -> io::Result<()> {
    let kept = |signal: &i32| !(matches!(*signal, SIGINT | SIGHUP) && is_ignored(*signal));
    let signals: Vec<i32> = [SIGINT, SIGTERM, SIGHUP, SIGUSR1].into_iter().filter(kept).collect();
    let mut arrived = Signals::new(&signals)?;
    let mask: SigSet = signals.iter().filter_map(|&signal| Signal::try_from(signal).ok()).collect();
    let work = move || {
        // It fails only for a signal that does not exist.
        let _ = mask.thread_unblock();
        let mut stopping = false;
        for signal in arrived.forever() {
            match signal {
                SIGUSR1 => stop.report(),
                _ if stopping => stop.stop_now(),
                _ => {
                    stopping = true;
                    stop.drain();
                }
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(work).map(drop)
}
