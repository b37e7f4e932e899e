//! A server process of a case's own: started, watched, stopped, continued, signalled, and gone when the case is over.
//!
//! What the kernel counts about it comes from `/proc` ([`Usage`]) or, where `/proc` cannot tell, from `strace` ([`Trace`]).
//! On a system without them the cases that need them are skipped loudly.

mod attach;
mod launch;
mod output;
mod signal;
mod sockets;
mod stream;
mod system_calls;
mod tools;
mod usage;

pub use attach::Attached;
pub use launch::{Finished, Launch};
pub use output::Output;
pub use signal::Signal;
pub use system_calls::{Call, Trace};
pub use tools::{have, need, need_descriptors};
pub use usage::{Usage, inherited_by_this_process};

use std::io::PipeReader;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use crate::ensure;
use crate::{DEADLINE, NotPassed};

/// Between two looks at something that the kernel offers no event for.
pub(crate) const POLL: Duration = Duration::from_millis(2);

/// A running server.
///
/// Dropping it kills it.
pub struct Server {
    child: Child,
    pid: u32,
    address: SocketAddr,
    output: Output,
    errors: Output,
    trace: Option<Trace>,
    /// Kept so that a full pipe stays one.
    _full: Vec<PipeReader>,
}

impl Server {
    /// The server's process: the child, or where something stands around it that does not become it (`unshare`), the
    /// child's descendant.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Where to connect: the first address that it said it listens on, 127.0.0.1 in place of "any".
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its standard output so far.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Its standard error so far.
    pub fn errors(&self) -> &Output {
        &self.errors
    }

    /// Its system calls, when it was started under [`Launch::traced`].
    pub fn trace(&self) -> Result<&Trace, NotPassed> {
        self.trace.as_ref().ok_or_else(|| NotPassed::failed("the suite: this server is not traced"))
    }

    /// Sends a signal to it.
    pub fn signal(&self, signal: Signal) -> Result<(), NotPassed> {
        signal::send(self.pid, signal)
            .map_err(|error| NotPassed::failed(format!("{signal} could not be sent to the server: {error}")))
    }

    /// Stops the process (SIGSTOP) and waits until each of its threads stands still: what clients do now lands in one
    /// wake-up of the server later.
    pub fn freeze(&self) -> Result<(), NotPassed> {
        // A stop that a tracer sees is told in its log: only then the state "tracing stop" means what we want.
        let stops = self.trace.as_ref().map(Trace::stops).transpose()?;
        self.signal(Signal::Stop)?;
        let deadline = Instant::now() + DEADLINE;
        loop {
            let stopped = usage::all_stopped(self.pid)?;
            let told = match (&self.trace, stops) {
                (Some(trace), Some(before)) => trace.stops()? > before,
                _ => true,
            };
            if stopped && told {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the suite: the server does not stop at SIGSTOP");
            std::thread::sleep(POLL);
        }
    }

    /// Lets the process go on (SIGCONT).
    pub fn thaw(&self) -> Result<(), NotPassed> {
        self.signal(Signal::Continue)
    }

    /// Waits for its end.
    pub fn wait_exit(&mut self, limit: Duration) -> Result<ExitStatus, NotPassed> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.output.wait_closed(DEADLINE)?;
                self.errors.wait_closed(DEADLINE)?;
                return Ok(status);
            }
            ensure!(
                Instant::now() < deadline,
                "the server is still running {limit:?} after it should have ended\n{}",
                self.said()
            );
            std::thread::sleep(POLL);
        }
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, NotPassed> {
        Ok(self.child.try_wait()?)
    }

    /// Fails when the process is gone, with what it said.
    pub fn ensure_alive(&mut self) -> Result<(), NotPassed> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(NotPassed::failed(format!("the server has ended: {status}\n{}", self.said()))),
        }
    }

    /// What the kernel counts about it.
    pub fn usage(&self) -> Result<Usage, NotPassed> {
        Usage::of(self.pid)
    }

    /// Its threads, by number.
    pub fn threads(&self) -> Result<Vec<u32>, NotPassed> {
        let tasks = usage::entries(self.pid, "task")?;
        Ok(tasks.iter().filter_map(|task| task.file_name()?.to_str()?.parse().ok()).collect())
    }

    /// The ports that it listens on at this moment, whatever it said.
    pub fn listening_ports(&self) -> Result<Vec<u16>, NotPassed> {
        sockets::listening_ports(self.pid)
    }

    /// Its descriptors that a program it starts would inherit, the standard three left out, each with what it is.
    pub fn inherited_descriptors(&self) -> Result<Vec<String>, NotPassed> {
        usage::inherited_descriptors(self.pid)
    }

    /// Its output and errors, for a failure's text.
    pub fn said(&self) -> String {
        format!("standard output: {:?}\nstandard error: {:?}", self.output.text(), self.errors.text())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the process is mostly gone already. SIGKILL ends a frozen one too.
        if self.pid != self.child.id() {
            let _ = signal::send(self.pid, Signal::Kill);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address of a `listening on ADDRESS` line.
fn address_of(line: &str) -> Option<SocketAddr> {
    line.strip_prefix("listening on ")?.trim().parse().ok()
}

/// Where a client on this machine reaches `address`.
///
/// A server on `[::]` is dual-stack, so that IPv4 reaches it whether or not this machine has IPv6.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listening_line_gives_an_address() {
        let parse = |line| address_of(line).map(reachable).map(|address| address.to_string());
        assert_eq!(parse("listening on 127.0.0.1:80").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(parse("listening on [::1]:80").as_deref(), Some("[::1]:80"));
        assert_eq!(parse("listening on [::]:80").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(parse("listening at 1.2.3.4:5"), None);
    }
}
