//! Faults from the signal to stop on: it ends in time all the same, and nobody gets half a reply.

use evserver_conformance::process::{Launch, Server, Signal};
use evserver_conformance::{DEADLINE, NotPassed, ensure};

use crate::case::{self, Fault, Outcome};
use crate::kind::Kind;
use crate::peer::{Broken, Peer, Talk};
use crate::serving::{is_transfer, reports, with_thread};
use crate::window::{Seen, Window};

/// The options of the server.
pub const OPTIONS: &[&str] = &["--drain-timeout", "2", "--idle-timeout", "0"];

/// Tries one fault, of which the thread of one client alone meets those of its own calls if each has one.
pub fn run(launch: Launch, fault: &Fault, kind: Kind) -> Outcome {
    let outcome = case::or_wrong(attempt(launch, Some(fault), kind).map(|(outcome, _)| outcome));
    kind.determined(fault, outcome)
}

/// The same without a fault: what calls there are.
pub fn calls(launch: Launch, kind: Kind) -> Result<Seen, NotPassed> {
    let (outcome, seen) = attempt(launch, None, kind)?;
    match outcome {
        Outcome::Is(words) if words == "served" => Ok(seen),
        other => Err(NotPassed::failed(format!("without a fault: {other}"))),
    }
}

fn attempt(launch: Launch, fault: Option<&Fault>, kind: Kind) -> Result<(Outcome, Seen), NotPassed> {
    let mut server = launch.start()?;
    let one_thread = kind == Kind::ThreadAConnection && fault.is_some_and(|fault| is_transfer(fault.call));
    let (clients, thread) = arrive(&server, one_thread)?;
    let mut window = Window::open(&server, fault, thread)?;
    server.signal(Signal::Terminate)?;
    let talks = leave(clients);
    let status = server.wait_exit(DEADLINE)?;
    let seen = window.seen()?;
    if fault.is_some() && seen.injected == 0 {
        return Ok((Outcome::NotMet, seen));
    }
    if status.code() != Some(0) {
        return Ok((case::ended(&server, status), seen));
    }
    ensure!(seen.lines <= most_lines(kind), "it spins: {} system calls", seen.lines);
    let outcome = match case::clients(&talks) {
        Outcome::Is(words) => {
            let report = if reports(&server) { "" } else { "; the report is lost" };
            Outcome::Is(format!("{words}{report}"))
        }
        other => other,
    };
    Ok((outcome, seen))
}

/// The one sweep of the listen queue takes so many at most; and far more than the rest of a shutdown takes.
const MOST_CALLS: usize = 65_536 + 10_000;

/// Two loops sweep, and of a call in which the other one has its turn strace makes two lines.
fn most_lines(kind: Kind) -> usize {
    if kind == Kind::SeveralLoops { 4 * MOST_CALLS } else { MOST_CALLS }
}

const HELD_LINES: usize = 200;
const HELD_LINE: &str = "held back";

/// Three who are there when the signal comes: one who is silent, one with half a line, and one whose replies are held up.
struct Clients {
    silent: Peer,
    half: Peer,
    held: Peer,
}

/// With the thread of the one who is held, if each has one.
fn arrive(server: &Server, threads: bool) -> Result<(Clients, Option<u32>), NotPassed> {
    const SMALL_BYTES: usize = 4096;
    let first = || {
        let silent = Peer::greeted(server.address(), &mut Window::none())?;
        let mut half = Peer::greeted(server.address(), &mut Window::none())?;
        half.send(b"half")?;
        Ok((silent, half))
    };
    let not_served = |_: Broken| NotPassed::failed("the first clients are not served");
    let (silent, half) = first().map_err(not_served)?;
    let held = || Peer::connect(server.address(), Some(SMALL_BYTES))?.welcomed(&mut Window::none());
    let (mut held, thread) = if threads {
        let (held, thread) = with_thread(server, held)?;
        (held, Some(thread))
    } else {
        (held().map_err(not_served)?, None)
    };
    held.send(format!("{HELD_LINE}\n").repeat(HELD_LINES).as_bytes()).map_err(not_served)?;
    Ok((Clients { silent, half, held }, thread))
}

fn leave(mut clients: Clients) -> Vec<Talk> {
    let mut nothing = Window::none();
    let replies: String = (1..=HELD_LINES).map(|number| format!("{number}: {HELD_LINE}\n")).collect();
    let mut held = |nothing: &mut Window| {
        let came = clients.held.take_to_end(nothing)?;
        if !replies.as_bytes().starts_with(&came) {
            return Err(Broken::Wrong(format!("{} bytes came, not all of them right", came.len())));
        }
        // Cut off before all was said.
        if came.len() < replies.len() { Err(Broken::Lost) } else { Ok(()) }
    };
    vec![held(&mut nothing), clients.silent.expect_end(&mut nothing), clients.half.expect_end(&mut nothing)]
}
