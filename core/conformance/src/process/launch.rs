//! How a server is started: what stands around its command, and where its output goes.

use std::io::PipeReader;
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::output::Output;
use super::stream::Stream;
use super::system_calls::{Trace, need_strace};
use super::{POLL, Server, address_of, need, reachable, usage};
use crate::{Context, DEADLINE, NotPassed};

/// A start that is being prepared.
pub struct Launch {
    words: Vec<String>,
    /// Programs that run their arguments in place of themselves, outermost first.
    around: Vec<String>,
    output: Stream,
    errors: Stream,
    trace: Option<Vec<String>>,
    /// The server is the child's child.
    forks: bool,
}

/// What a process that ran to its end left behind.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

impl Context<'_> {
    /// Prepares a start of the server with a case's own options.
    ///
    /// # Errors
    /// Skips when no command was given.
    pub fn launch(&self, options: &[&str]) -> Result<Launch, NotPassed> {
        Ok(Launch::new(self.command_line(options)?))
    }

    /// Starts the server with a case's own options, and waits until it listens.
    ///
    /// # Errors
    /// When it does not, or no command was given.
    pub fn spawn(&self, options: &[&str]) -> Result<Server, NotPassed> {
        self.launch(options)?.start()
    }
}

impl Launch {
    /// The words of a command, the program first.
    pub fn new(words: Vec<String>) -> Launch {
        Launch {
            words,
            around: Vec::new(),
            output: Stream::Collected,
            errors: Stream::Collected,
            trace: None,
            forks: false,
        }
    }

    /// Puts a program that runs its arguments around the command, inside those that stand there already.
    ///
    /// # Errors
    /// Skips loudly when the program is not installed.
    pub fn under(mut self, words: &[&str]) -> Result<Launch, NotPassed> {
        need(words.first().unwrap_or(&""))?;
        self.around.extend(words.iter().map(|word| word.to_string()));
        Ok(self)
    }

    /// Starts it as the first process of a PID namespace, as in a container.
    ///
    /// # Errors
    /// Skips loudly where that is not permitted.
    pub fn as_process_1(mut self) -> Result<Launch, NotPassed> {
        self = self.under(&["unshare", "--pid", "--fork", "--kill-child"])?;
        let permitted = Process::new("unshare").args(["--pid", "--fork", "true"]).output()?.status.success();
        if !permitted {
            return Err(NotPassed::skipped_loudly("a PID namespace is not permitted here"));
        }
        self.forks = true;
        Ok(self)
    }

    /// Starts it with `strace` at it from its first instruction; `options` are further options of strace's.
    ///
    /// # Errors
    /// Skips loudly when strace is not installed or not permitted.
    pub fn traced(mut self, options: &[&str]) -> Result<Launch, NotPassed> {
        need_strace()?;
        self.trace.get_or_insert_default().extend(options.iter().map(|option| option.to_string()));
        Ok(self)
    }

    /// Lets the listed system calls fail or be delayed, as strace's `inject` says (`error=EMFILE:when=3`). Names that this
    /// architecture does not have are left out.
    ///
    /// # Errors
    /// As [`Launch::traced`].
    pub fn inject(self, calls: &[&str], what: &str) -> Result<Launch, NotPassed> {
        let known: Vec<String> = calls.iter().map(|call| format!("?{call}")).collect();
        self.traced(&["-e", &format!("inject={}:{what}", known.join(","))])
    }

    /// Gives it a port in place of `--listen` and its value, as a user does.
    ///
    /// # Errors
    /// Skips when the command has no `--listen ADDRESS` that could be left out.
    pub fn with_port(mut self, port: u16) -> Result<Launch, NotPassed> {
        let before = self.words.len();
        while let Some(at) = self.words.iter().position(|word| word == "--listen") {
            self.words.drain(at..self.words.len().min(at + 2));
        }
        if self.words.len() == before {
            return Err(NotPassed::skipped(
                "the server's command has no --listen ADDRESS to put a port in place of",
            ));
        }
        self.words.push(port.to_string());
        Ok(self)
    }

    /// Starts it with standard output closed.
    #[must_use]
    pub fn output_closed(mut self) -> Launch {
        self.output = Stream::Closed;
        self
    }

    /// Starts it with a full pipe as standard output.
    #[must_use]
    pub fn output_full(mut self) -> Launch {
        self.output = Stream::Full;
        self
    }

    /// Starts it with a pipe as standard output whose reader has gone.
    #[must_use]
    pub fn output_broken(mut self) -> Launch {
        self.output = Stream::Broken;
        self
    }

    /// Starts it with standard error closed.
    #[must_use]
    pub fn errors_closed(mut self) -> Launch {
        self.errors = Stream::Closed;
        self
    }

    /// Starts it with a full pipe as standard error.
    #[must_use]
    pub fn errors_full(mut self) -> Launch {
        self.errors = Stream::Full;
        self
    }

    /// Starts it with a pipe as standard error whose reader has gone.
    #[must_use]
    pub fn errors_broken(mut self) -> Launch {
        self.errors = Stream::Broken;
        self
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Errors
    /// When it ends or has not said `listening on ADDRESS` within [`DEADLINE`]; where nobody can read that, when the
    /// kernel shows no listening socket of its.
    pub fn start(self) -> Result<Server, NotPassed> {
        let says_address = self.output == Stream::Collected;
        let mut server = self.begin()?;
        if says_address {
            let found =
                server.output.wait_for("line \"listening on ADDRESS\" on standard output", DEADLINE, |lines| {
                    lines.iter().find_map(|line| address_of(line))
                });
            server.address = reachable(found.map_err(|missing| {
                let errors = server.errors.text();
                missing.within(format!("starting {:?} (standard error: {errors:?})", self.words))
            })?);
            if self.forks {
                let inner = usage::child_of(server.pid);
                server.pid = inner.ok_or_else(|| NotPassed::failed("the suite: unshare has no child"))?;
            }
            return Ok(server);
        }
        let deadline = Instant::now() + DEADLINE;
        loop {
            server.ensure_alive().map_err(|ended| ended.within(format!("starting {:?}", self.words)))?;
            if let Some(&port) = server.listening_ports()?.first() {
                server.address.set_port(port);
                return Ok(server);
            }
            if Instant::now() >= deadline {
                return Err(NotPassed::failed(format!("{:?} does not listen after {DEADLINE:?}", self.words)));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Starts the server and waits for nothing: it may end instead, or not say where it listens. Its address is not known.
    ///
    /// # Errors
    /// When the command cannot be run.
    pub fn begin(&self) -> Result<Server, NotPassed> {
        let Running { child, output, errors, trace, full } = self.run_it()?;
        let address = ([127, 0, 0, 1], 0).into();
        Ok(Server { pid: child.id(), child, address, output, errors, trace, _full: full })
    }

    /// Runs the command to its end, for what is expected to end by itself.
    ///
    /// # Errors
    /// When it is still running after `limit`.
    pub fn finish(self, limit: Duration) -> Result<Finished, NotPassed> {
        let mut server = self.begin()?;
        let status =
            server.wait_exit(limit).map_err(|running| running.within(format!("running {:?}", self.words)))?;
        Ok(Finished { status, output: server.output.text(), errors: server.errors.text() })
    }

    fn run_it(&self) -> Result<Running, NotPassed> {
        let mut words = ignored_here()?;
        words.extend(self.around.iter().cloned());
        let closed = match (self.output, self.errors) {
            (Stream::Closed, Stream::Closed) => Some("exec \"$@\" >&- 2>&-"),
            (Stream::Closed, _) => Some("exec \"$@\" >&-"),
            (_, Stream::Closed) => Some("exec \"$@\" 2>&-"),
            _ => None,
        };
        if let Some(script) = closed {
            words.extend(["sh", "-c", script, "sh"].map(str::to_string));
        }
        let trace = match &self.trace {
            Some(options) => {
                let trace = Trace::new()?;
                words.extend(trace.command(options));
                Some(trace)
            }
            None => None,
        };
        words.extend(self.words.iter().cloned());

        let mut full = Vec::new();
        let mut process = Process::new(&words[0]);
        process.args(&words[1..]).stdin(Stdio::null());
        process.stdout(self.output.descriptor(&mut full)?).stderr(self.errors.descriptor(&mut full)?);
        let mut child = process.spawn().map_err(|error| {
            NotPassed::failed(format!("the server's command {words:?} does not start: {error}"))
        })?;
        let output = child.stdout.take().map_or_else(Output::none, Output::collect);
        let errors = child.stderr.take().map_or_else(Output::none, Output::collect);
        Ok(Running { child, output, errors, trace, full })
    }
}

struct Running {
    child: Child,
    output: Output,
    errors: Output,
    trace: Option<Trace>,
    full: Vec<PipeReader>,
}

/// The words that give a child its default SIGINT and SIGHUP back, when this process itself was started with them ignored
/// (`nohup`, a script's background job): an ignored signal is inherited, and the server would be right to keep it.
fn ignored_here() -> Result<Vec<String>, NotPassed> {
    /// SIGHUP is 1 and SIGINT 2: bits 0 and 1 of the mask.
    const HANGUP_AND_INTERRUPT: u64 = 0b11;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    if ignored & HANGUP_AND_INTERRUPT == 0 {
        return Ok(Vec::new());
    }
    need("env")?;
    Ok(["env", "--default-signal=HUP", "--default-signal=INT"].map(str::to_string).into())
}
