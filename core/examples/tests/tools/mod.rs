//! What the tests share: servers in this process and beside it, clients of other people's.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use evserver_core::{Limits, Protocol, Settings};
use evserver_examples::shells::{Shell, serve};
use evserver_hosted::{ListenOptions, Peer, Report, StopHandle, listen};

/// Only what hangs takes so long.
pub const FOREVER: Duration = Duration::from_secs(120);

/// Long enough for whatever a test does while it is idle.
pub const SETTINGS: Settings = Settings {
    limits: Limits { idle_ms: 600_000, ..Limits::new() },
    max_connections: None,
    drain_ms: 30_000,
    edge_triggered: false,
};

/// Every shell that runs here.
pub fn shells() -> &'static [Shell] {
    Shell::value_variants()
}

/// The word for a shell on the command line.
pub fn word(shell: Shell) -> String {
    shell.to_possible_value().expect("every shell has a word").get_name().to_owned()
}

/// Serves on a shell while `talk` runs with the server's address; then stops it, and gives its report.
pub fn serving<P, F>(shell: Shell, loops: usize, make: F, talk: impl FnOnce(SocketAddr)) -> Report
where
    P: Protocol + Send + 'static,
    F: Fn(&Peer<P>) -> P + Sync + Send,
{
    let options = ListenOptions { reuse_port: loops > 1, ..ListenOptions::default() };
    let listeners = listen(&["127.0.0.1:0".parse().unwrap()], &options).unwrap();
    let address = listeners[0].address;
    let stop = StopHandle::new().unwrap();
    thread::scope(|scope| {
        let stopped = stop.clone();
        let server = scope.spawn(move || serve(shell, loops, listeners, SETTINGS, stopped, make));
        /// Stops the server also when the test fails, which would else wait for it for ever.
        struct Stop(StopHandle);
        impl Drop for Stop {
            fn drop(&mut self) {
                self.0.drain();
            }
        }
        let stop = Stop(stop);
        talk(address);
        drop(stop);
        server.join().expect("the server does not panic").expect("the server does not fail")
    })
}

/// A client that gives up on a server that hangs.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(FOREVER)).unwrap();
    stream.set_write_timeout(Some(FOREVER)).unwrap();
    stream
}

/// A client that reads lines.
pub struct Lines {
    pub stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Lines {
    pub fn connect(address: SocketAddr) -> Self {
        Self::over(connect(address))
    }

    pub fn over(stream: TcpStream) -> Self {
        Self { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    /// The next line without its end, or `None` when the server has ended.
    pub fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("a line or the end comes");
        line.ends_with('\n').then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }

    #[track_caller]
    pub fn expect(&mut self, line: &str) {
        assert_eq!(self.next().as_deref(), Some(line));
    }

    pub fn say(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }
}

/// A client program of somebody else's, or `None`, said loudly, where it is not installed. In CI it has to be.
pub fn client(program: &str) -> Option<Command> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
        return Some(Command::new(program));
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{program} is missing: see .ci/packages");
    // Not by `eprintln`, which a test that passes does not show.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {program} is not installed, so nothing was tested with it");
    None
}

/// Runs a client to its end, which must come and be a success; what it said.
#[track_caller]
pub fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().unwrap();
    let (finished, output) = mpsc::channel();
    let id = child.id();
    let name = format!("{command:?}");
    thread::scope(|scope| {
        // A client may end before it has read everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        scope.spawn(move || drop(finished.send(child.wait_with_output())));
        match output.recv_timeout(FOREVER) {
            Ok(output) => {
                let output = output.expect("its output can be read");
                assert!(output.status.success(), "{name}: {output:?}");
                output
            }
            Err(_) => {
                kill(id, 9);
                panic!("{name} does not end");
            }
        }
    })
}

/// What a client said, as text.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Sends a signal to a process that this test started.
fn kill(id: u32, number: u8) {
    let _ = Command::new("kill").args([format!("-{number}"), id.to_string()]).status();
}

/// One of this package's programs, running.
pub struct Running {
    child: Child,
    pub address: SocketAddr,
    output: BufReader<std::process::ChildStdout>,
}

/// What a program left behind.
pub struct Finished {
    pub success: bool,
    pub code: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Running {
    /// Starts a program on a free port of this machine, and waits until it listens.
    pub fn start(program: &str, shell: Shell, more: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0", "--shell", &word(shell)]).args(more);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("{program} said {line:?}"));
        Self { child, address, output }
    }

    /// Tells it to stop as a person does, and waits for its end.
    pub fn stop(self) -> Finished {
        kill(self.child.id(), 15);
        self.finish()
    }

    /// Tells it so twice: the second time when it listens no more, so that it hears both.
    pub fn stop_at_once(self) -> Finished {
        kill(self.child.id(), 15);
        let until = Instant::now() + FOREVER;
        while TcpStream::connect(self.address).is_ok() {
            assert!(Instant::now() < until, "it still listens");
            thread::sleep(Duration::from_millis(5));
        }
        kill(self.child.id(), 15);
        self.finish()
    }

    fn finish(mut self) -> Finished {
        let until = Instant::now() + FOREVER;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => panic!("it does not end"),
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let (mut output, mut errors) = (String::new(), String::new());
        self.output.read_to_string(&mut output).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        Finished { success: status.success(), code: status.code(), output, errors }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
