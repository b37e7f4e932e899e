//! Faults while a server starts: it starts all the same, or says why it does not.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use evserver_conformance::process::{Call, Launch, Server, Signal};
use evserver_conformance::{DEADLINE, NotPassed, ensure};

use crate::case::{self, Fault, Outcome};
use crate::peer::{Broken, Peer, Talk};
use crate::serving::reports;
use crate::window::Window;

/// The calls of the thread that starts everything.
pub struct Calls {
    /// Those of the dynamic loader and the C library, before the program.
    before: Vec<String>,
    /// Those of the program until it sleeps.
    own: Vec<String>,
}

impl Calls {
    /// Starts the server once, to see them. Rust's runtime begins with a poll of the standard three descriptors.
    pub fn of(launch: Launch) -> Result<Calls, NotPassed> {
        let server = launch.traced(&[])?.start()?;
        let trace = server.trace()?;
        trace.mark()?;
        let calls = trace.calls_since(0)?;
        let first: Option<u32> = calls.first().map(|call| call.thread);
        let mine = calls.into_iter().filter(|call: &Call| Some(call.thread) == first);
        let names: Vec<String> = mine.map(|call| call.name).collect();
        let begins = names.iter().position(|name| name == "poll" || name == "ppoll");
        let begins = begins.ok_or_else(|| NotPassed::failed("the server does not begin as a Rust program does"))?;
        let (before, own) = names.split_at(begins);
        Ok(Calls { before: before.to_vec(), own: own.to_vec() })
    }

    /// The names of the program's own.
    pub fn own(&self) -> &[String] {
        &self.own
    }

    /// How often the program makes this one.
    pub fn times(&self, call: &str) -> usize {
        self.own.iter().filter(|name| *name == call).count()
    }

    /// The number that strace has for its first one.
    fn first(&self, call: &str) -> usize {
        self.before.iter().filter(|name| *name == call).count() + 1
    }
}

/// Tries one fault.
pub fn run(launch: Launch, fault: &Fault, calls: &Calls) -> Outcome {
    case::or_wrong(attempt(launch, fault, calls.first(fault.call)))
}

fn attempt(launch: Launch, fault: &Fault, first: usize) -> Result<Outcome, NotPassed> {
    let mut server = launch.traced(&["-e", &fault.injection(first)])?.begin()?;
    let Some(address) = address(&mut server)? else { return how_it_ended(&mut server) };
    match one_client(address) {
        Ok(()) => {}
        Err(Broken::Refused) => return Err(NotPassed::failed("its first client is refused")),
        Err(Broken::Lost) => return how_it_ended(&mut server),
        // The port of one that has ended may be anybody's.
        Err(Broken::Wrong(_)) if server.ended()?.is_some() => return how_it_ended(&mut server),
        Err(Broken::Wrong(why)) => return Ok(Outcome::Wrong(why)),
    }
    if server.trace()?.injected()? == 0 {
        return Ok(Outcome::NotMet);
    }
    server.signal(Signal::Terminate)?;
    let status = server.wait_exit(DEADLINE)?;
    ensure!(status.code() == Some(0), "it serves and ends with {status}");
    let line = if said_address(&server).is_some() { "" } else { "; the address is not said" };
    let report = if reports(&server) { "" } else { "; the report is lost" };
    Ok(Outcome::Is(format!("starts{line}{report}")))
}

/// Where it listens; nothing if it has ended. It may serve without having been able to say so.
fn address(server: &mut Server) -> Result<Option<SocketAddr>, NotPassed> {
    /// Only then the kernel is asked, which takes long.
    const USUAL: Duration = Duration::from_millis(500);
    let start = Instant::now();
    while start.elapsed() < DEADLINE {
        if let Some(address) = said_address(server) {
            return Ok(Some(address));
        }
        if server.ended()?.is_some() {
            return Ok(None);
        }
        if start.elapsed() > USUAL
            && let Ok(ports) = server.listening_ports()
            && let Some(&port) = ports.first()
        {
            let address = ([127, 0, 0, 1], port).into();
            if one_client(address).is_ok() {
                return Ok(Some(said_address(server).unwrap_or(address)));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Err(NotPassed::failed("it neither serves nor ends"))
}

fn said_address(server: &Server) -> Option<SocketAddr> {
    server.output().lines().iter().find_map(|line| line.strip_prefix("listening on ")?.parse().ok())
}

fn one_client(address: SocketAddr) -> Talk {
    let mut nothing = Window::none();
    let mut peer = Peer::greeted(address, &mut nothing)?;
    peer.send(b"a\nquit\n")?;
    peer.expect(b"1: a\nbye\n", &mut nothing)?;
    peer.expect_end(&mut nothing)
}

fn how_it_ended(server: &mut Server) -> Result<Outcome, NotPassed> {
    let status = server.wait_exit(DEADLINE)?;
    Ok(case::ended(server, status))
}
