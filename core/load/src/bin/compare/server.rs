//! Starts the servers that are compared.

use std::io::Read;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use evserver_load::failure::{Failure, Outcome};
use evserver_load::script::Mode;
use evserver_load::target::Target;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cpus::Cpus;

/// How long a server may take to say where it listens.
const START_MAX: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// A longer first line is no address.
const FIRST_LINE_MAX: usize = 200;

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Server {
    /// Program and arguments; `--listen 127.0.0.1:0` is added.
    pub command: Vec<String>,
    /// How it answers. It greets in either mode.
    pub mode: Mode,
}

/// A server that runs; it ends with this value.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Where the load goes.
    pub target: Target,
}

impl Server {
    /// Starts it on its processor and waits until it listens; leaves this thread on the load's.
    pub fn start(&self, cpus: Cpus) -> Outcome<Running> {
        let name = self.command.join(" ");
        let failed = |error: std::io::Error| Failure::io(format!("cannot start {name}"), error);
        let (program, arguments) =
            self.command.split_first().ok_or_else(|| Failure::Refused("an empty command".into()))?;
        // A child starts where its parent is: so every thread that it makes is there from the first moment.
        cpus.be_server()?;
        let spawned = Command::new(program)
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        cpus.be_load()?;
        let child = spawned.map_err(failed)?;
        let pid = child.id();
        // From here on an early return ends the child.
        let unknown = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut running = Running { child, target: Target::new(unknown, self.mode) };
        let line = running.first_line().map_err(failed)?;
        let address = line.trim_end().strip_prefix("listening on ").and_then(|address| address.parse().ok());
        running.target.address = address
            .ok_or_else(|| Failure::Refused(format!("{name} did not say where it listens, but {line:?}")))?;
        running.target.pid = Some(pid);
        running.target.greeting = true;
        Ok(running)
    }
}

impl Running {
    fn first_line(&mut self) -> std::io::Result<String> {
        let Some(output) = &mut self.child.stdout else { return Ok(String::new()) };
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\n") && line.len() < FIRST_LINE_MAX {
            match poll(&mut [PollFd::new(&*output, PollFlags::IN)], Some(&START_MAX)) {
                Ok(0) => return Err(Errno::TIMEDOUT.into()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if output.read(&mut byte)? == 0 {
                break;
            }
            line.push(byte[0]);
        }
        Ok(String::from_utf8_lossy(&line).into_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It is measured, not tested: how it ends is nobody's concern, and it may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
