//! `strace` that comes to a running server, lets its system calls fail, and goes again.

use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use super::output::Output;
use super::signal::{self, Signal};
use super::system_calls::{Trace, need_strace};
use super::{POLL, Server};
use crate::{DEADLINE, NotPassed};

/// A tracer at a running server: what it was told to let fail fails until it is detached.
///
/// It counts the calls of each thread for itself, from when it came or the thread began.
pub struct Attached {
    tracer: Child,
    trace: Trace,
}

/// Before strace goes the server must have made no call for so long, or the limit is over: a call that strace has begun to
/// let fail when it goes gives ENOSYS, as no kernel does.
const QUIET: Duration = Duration::from_millis(20);
const QUIET_LIMIT: Duration = Duration::from_secs(1);

/// So long strace has for its last lines.
const LETS_GO: Duration = Duration::from_secs(5);

impl Server {
    /// Attaches `strace`, with these options, to one thread, or to all that there are and will be, and waits until it is there.
    ///
    /// # Errors
    /// Skips loudly when strace is not installed or not permitted; fails when it does not come.
    pub fn attach(&self, options: &[&str], thread: Option<u32>) -> Result<Attached, NotPassed> {
        need_strace()?;
        let trace = Trace::new()?;
        let mut process = Process::new("strace");
        process.arg("-o").arg(trace.path()).args(options);
        match thread {
            Some(thread) => process.args(["-p", &thread.to_string()]),
            None => process.args(["-f", "-p", &self.pid.to_string()]),
        };
        let mut tracer = process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let said = tracer.stderr.take().map_or_else(Output::none, Output::collect);
        let attached = Attached { tracer, trace };
        let is_there = |lines: &[String]| lines.iter().any(|line| line.contains(" attached")).then_some(());
        said.wait_for("word of strace that it is attached", DEADLINE, is_there)?;
        Ok(attached)
    }
}

impl Attached {
    /// What it wrote down; of one thread alone without the thread's number, so that only lines and faults can be counted.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Lets the server alone.
    ///
    /// # Errors
    /// When strace does not go.
    pub fn detach(&mut self) -> Result<(), NotPassed> {
        self.trace.settle(QUIET, QUIET_LIMIT)?;
        // It may be gone already, with the server. Of a server of several threads that has ended and that nobody has waited
        // for it never lets go by itself; killed, it does (ptrace(2)).
        for signal in [Signal::Terminate, Signal::Kill] {
            let _ = signal::send(self.tracer.id(), signal);
            let start = Instant::now();
            while start.elapsed() < LETS_GO {
                if self.tracer.try_wait()?.is_some() {
                    return Ok(());
                }
                std::thread::sleep(POLL);
            }
        }
        Err(NotPassed::failed("the suite: strace does not let go"))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Nothing can be done about a failure here. Killed, the tracer lets go as well (ptrace(2), PTRACE_SEIZE).
        let _ = self.tracer.kill();
        let _ = self.tracer.wait();
    }
}
