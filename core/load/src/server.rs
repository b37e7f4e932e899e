//! Starts the servers that are measured, and ends them.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::cpus::Cpus;
use crate::failure::{Failure, Outcome};
use crate::script::Mode;
use crate::target::Target;

/// How long a server may take to say where it listens.
const START_MAX: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// How long it may take to end when it is asked to: more than any drains its clients.
const STOP_MAX: Duration = Duration::from_secs(20);

/// Between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A longer line is no address.
const LINE_MAX: usize = 200;

/// Lines that redis-server may print before it is ready.
const LINES_MAX: usize = 100;

/// How a server is told where to listen, and how it is seen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Takes `--listen 127.0.0.1:0` and prints `listening on ADDR:PORT`.
    Announces,
    /// redis-server: takes a port that was free a moment ago and prints that it is ready.
    Redis,
}

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Server {
    /// Program and arguments; where to listen is added.
    pub command: Vec<String>,
    /// How it is started.
    pub start: Start,
    /// How it answers.
    pub mode: Mode,
    /// Whether it says `ready` to each client.
    pub greeting: bool,
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
        let port = if self.start == Start::Redis { free_port()? } else { 0 };
        let place = match self.start {
            Start::Announces => ["--listen".into(), format!("127.0.0.1:{port}")].to_vec(),
            Start::Redis => ["--bind", "127.0.0.1", "--port", &port.to_string()].map(String::from).to_vec(),
        };
        // A child starts where its parent is: so every thread that it makes is there from the first moment.
        cpus.be_server()?;
        let spawned =
            Command::new(program).args(arguments).args(place).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        cpus.be_load()?;
        let child = spawned.map_err(failed)?;
        let pid = child.id();
        // From here on an early return ends the child.
        let unknown = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut running = Running { child, target: Target::new(unknown, self.mode) };
        match self.start {
            Start::Announces => {
                let line = running.line().map_err(failed)?;
                let address = line.trim_end().strip_prefix("listening on ").and_then(|text| text.parse().ok());
                let silent = || Failure::Refused(format!("{name} did not say where it listens, but {line:?}"));
                running.target.address = address.ok_or_else(silent)?;
            }
            Start::Redis => running.wait_for("eady to accept connections").map_err(failed)?,
        }
        running.target.pid = Some(pid);
        running.target.greeting = self.greeting;
        Ok(running)
    }
}

impl Running {
    /// Asks it to end, and waits until it has.
    pub fn stop(mut self) -> Outcome<()> {
        let failed = |error| Failure::io("cannot end a server", error);
        kill_process(Pid::from_child(&self.child), Signal::TERM).map_err(|error| failed(error.into()))?;
        let asked = Instant::now();
        while self.child.try_wait().map_err(failed)?.is_none() {
            if asked.elapsed() >= STOP_MAX {
                return Err(Failure::Stalled { waited: STOP_MAX, what: "a server does not end on SIGTERM".into() });
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn wait_for(&mut self, words: &str) -> std::io::Result<()> {
        for _ in 0..LINES_MAX {
            let line = self.line()?;
            if line.contains(words) {
                return Ok(());
            }
            if line.is_empty() {
                break;
            }
        }
        Err(std::io::Error::other(format!("it did not say {words:?}")))
    }

    /// The next line of its standard output, cut to [`LINE_MAX`]; empty at the end.
    fn line(&mut self) -> std::io::Result<String> {
        let Some(output) = &mut self.child.stdout else { return Ok(String::new()) };
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\n") && line.len() < LINE_MAX {
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

/// A port that nobody listens on, most likely not a moment later either.
fn free_port() -> Outcome<u16> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    Ok(port.map_err(|error| Failure::io("cannot find a free port", error))?.port())
}

/// The program of this name in the folder of this one, or that it is not there.
pub fn beside(program: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find the own program: {error}"))?;
    let path = own.parent().unwrap_or(Path::new(".")).join(program);
    if path.exists() { Ok(path) } else { Err(format!("{program} is not built")) }
}

/// The program of this name among those that a shell would find, or that it is missing.
pub fn on_path(program: &str) -> Result<PathBuf, String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{program} is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(command: &[&str], start: Start) -> Server {
        let command = command.iter().map(|word| word.to_string()).collect();
        Server { command, start, mode: Mode::Echo, greeting: false }
    }

    #[test]
    fn a_server_is_as_good_as_what_it_says() {
        let cpus = Cpus::choose().unwrap();
        let script = "echo listening on 127.0.0.1:7; exec sleep 60";
        let running = server(&["sh", "-c", script], Start::Announces).start(cpus).unwrap();
        assert_eq!(running.target.address, "127.0.0.1:7".parse().unwrap());
        running.stop().unwrap();
        let script = "echo starting; echo Ready to accept connections; exec sleep 60";
        let running = server(&["sh", "-c", script], Start::Redis).start(cpus).unwrap();
        assert!(running.target.address.port() > 0 && running.target.pid.is_some());
        for start in [Start::Announces, Start::Redis] {
            let silent = server(&["sh", "-c", "echo no"], start).start(cpus).unwrap_err().to_string();
            assert!(silent.contains("did not say"), "{silent}");
        }
    }

    #[test]
    fn programs_are_found_or_said_to_be_missing() {
        assert!(on_path("sh").is_ok());
        assert_eq!(on_path("no-such-program").unwrap_err(), "no-such-program is missing");
        assert_eq!(beside("no-such-program").unwrap_err(), "no-such-program is not built");
    }
}
