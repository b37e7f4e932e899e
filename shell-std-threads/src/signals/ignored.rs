//! Whether a signal was ignored when the program started.
//!
//! sigaction(2) tells, but no safe interface to it does. Linux has it in a file; elsewhere a shell is asked, since an
//! ignored signal is inherited and POSIX has shells keep it so.

use std::fs;
use std::process::{Command, Stdio};

use nix::sys::signal::{SigSet, Signal};

/// Sends itself a signal for which it has set a trap; a signal that was ignored when the shell was started cannot be
/// trapped (POSIX, the special built-in `trap`), so that it goes on to the end.
const TRAP: &str = "trap 'exit 7' \"$0\"; kill -s \"$0\" $$; exit 0";

/// What it says of a signal that was not ignored.
const TRAPPED: i32 = 7;

/// Whether a signal is ignored. It is taken not to be where nothing tells.
pub fn is_ignored(signal: i32) -> bool {
    in_proc(signal).or_else(|| in_a_shell(signal)).unwrap_or(false)
}

/// From the line `SigIgn` of proc_pid_status(5).
fn in_proc(signal: i32) -> Option<bool> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask >> (signal - 1) & 1 == 1)
}

/// From a shell, if it can be asked: one that is blocked it would wait for in vain.
fn in_a_shell(signal: i32) -> Option<bool> {
    let signal = Signal::try_from(signal).ok()?;
    if SigSet::thread_get_mask().ok()?.contains(signal) {
        return None;
    }
    let name = signal.as_str().strip_prefix("SIG")?;
    let nothing = || Stdio::null();
    let shell = Command::new("/bin/sh")
        .args(["-c", TRAP, name])
        .stdin(nothing())
        .stdout(nothing())
        .stderr(nothing())
        .status();
    match shell.ok()?.code()? {
        0 => Some(true),
        TRAPPED => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_says_what_the_system_says() {
        for signal in [Signal::SIGINT, Signal::SIGHUP] {
            let said = in_a_shell(signal as i32);
            assert!(said.is_some());
            if cfg!(target_os = "linux") {
                assert_eq!(said, in_proc(signal as i32));
            }
        }
    }

    #[test]
    fn an_ignored_signal_cannot_be_trapped() {
        // One that who runs the tests has not ignored, as nohup(1) does with SIGHUP.
        for (before, code) in [("", TRAPPED), ("trap '' USR2;", 0)] {
            let script = format!("{before} exec /bin/sh -c \"$0\" USR2");
            let status = Command::new("/bin/sh").args(["-c", &script, TRAP]).status().unwrap();
            assert_eq!(status.code(), Some(code), "{script}");
        }
    }
}
