//! Faults while a server serves: they come when it runs, and when they are over it is as good as new.

use std::time::{Duration, Instant};

use evserver_conformance::process::{Launch, Server, Signal};
use evserver_conformance::{DEADLINE, NotPassed, ensure};

use crate::case::{self, Fault, Outcome};
use crate::kind::Kind;
use crate::peer::{Broken, Peer, Talk};
use crate::window::{Seen, Window};

/// The options of the server: a half-typed line is over soon, silence never.
pub const OPTIONS: &[&str] = &["--line-timeout", "1", "--idle-timeout", "0"];

/// System calls of a whole session, strace's own doubling aside; a server that spins makes as many in a second or two.
const MOST_CALLS: usize = 20_000;

/// Lines on standard error; a complaint is made once a minute.
const MOST_LINES: usize = 8;

/// Lines of the client that does not read until it is held, and their length.
const HELD_LINES: usize = 400;
const HELD_LINE_BYTES: usize = 1000;

/// What one session does with the server beyond its ordinary clients.
#[derive(Clone, Copy)]
pub struct Parts {
    /// A client that is held back: transfers cannot always move.
    held: bool,
    /// A line that is never ended: a timer acts.
    half_typed: bool,
}

impl Parts {
    /// Everything: to find out which calls a server makes.
    pub const ALL: Parts = Parts { held: true, half_typed: true };

    /// What it takes for this call to be made; the rest costs time.
    fn of(call: &str) -> Parts {
        let waits = matches!(call, "epoll_wait" | "ppoll" | "poll");
        let moves = matches!(call, "recvfrom" | "sendto" | "epoll_ctl" | "mmap" | "munmap" | "brk");
        Parts { held: waits || moves, half_typed: waits || call == "read" }
    }
}

/// Tries one fault, with a client whose thread alone meets it if each has one.
pub fn run(launch: Launch, fault: &Fault, kind: Kind) -> Outcome {
    let outcome = if kind == Kind::ThreadAConnection && is_transfer(fault.call) {
        one_thread(launch, fault)
    } else {
        attempt(launch, Some(fault), Parts::of(fault.call), kind).map(|(outcome, _)| outcome)
    };
    kind.determined(fault, case::or_wrong(outcome))
}

/// Threads wake each other by the same calls, in which no kernel fails so: strace is put to the thread of one client.
pub fn is_transfer(call: &str) -> bool {
    matches!(call, "recvfrom" | "sendto" | "shutdown")
}

fn one_thread(launch: Launch, fault: &Fault) -> Result<Outcome, NotPassed> {
    let mut server = launch.start()?;
    let mut nothing = Window::none();
    // Before it, the helpers may not all have started.
    ordinary(&server, &mut nothing).map_err(|_| NotPassed::failed("the first client is not served"))?;
    let (victim, thread) = with_thread(&server, || Peer::greeted(server.address(), &mut Window::none()))?;
    let base = server.usage()?.descriptors - 1;
    let mut window = Window::open(&server, Some(fault), Some(thread))?;
    let talk = long(victim, &mut window);
    ordinary(&server, &mut nothing).map_err(|_| NotPassed::failed("another client is not served"))?;
    let seen = window.seen()?;
    if seen.injected == 0 {
        return Ok(Outcome::NotMet);
    }
    ensure!(seen.lines <= MOST_CALLS, "it spins: {} system calls", seen.lines);
    is_whole(&mut server, base, 1)?;
    Ok(case::clients(&[talk]))
}

/// Makes a client and finds its thread.
pub fn with_thread(server: &Server, make: impl FnOnce() -> Result<Peer, Broken>) -> Result<(Peer, u32), NotPassed> {
    let start = Instant::now();
    // Threads of clients that have gone go too.
    let mut before = server.threads()?;
    while start.elapsed() < DEADLINE {
        std::thread::sleep(Duration::from_millis(20));
        let now = server.threads()?;
        if now == before {
            break;
        }
        before = now;
    }
    let peer = make().map_err(|_| NotPassed::failed("a client is not served"))?;
    let new = server.threads()?.into_iter().find(|thread| !before.contains(thread));
    Ok((peer, new.ok_or_else(|| NotPassed::failed("a client has no thread of its own"))?))
}

/// A conversation that makes many transfers.
fn long(mut peer: Peer, window: &mut Window) -> Talk {
    const LINES: usize = 5;
    for number in 1..=LINES {
        peer.send(b"line\n")?;
        peer.expect(format!("{number}: line\n").as_bytes(), window)?;
    }
    let replies: String = (LINES + 1..=LINES + HELD_LINES).map(|number| format!("{number}: abc\n")).collect();
    peer.exchange(&b"abc\n".repeat(HELD_LINES), replies.as_bytes(), window)?;
    peer.send(b"quit\n")?;
    peer.expect(b"bye\n", window)?;
    peer.expect_end(window)
}

/// The same without a fault: what calls there are.
pub fn calls(launch: Launch, kind: Kind) -> Result<Seen, NotPassed> {
    let (outcome, seen) = attempt(launch, None, Parts::ALL, kind)?;
    match outcome {
        Outcome::Is(words) if words == "served" => Ok(seen),
        other => Err(NotPassed::failed(format!("without a fault: {other}"))),
    }
}

fn attempt(launch: Launch, fault: Option<&Fault>, parts: Parts, kind: Kind) -> Result<(Outcome, Seen), NotPassed> {
    let mut server = launch.start()?;
    let mut nothing = Window::none();
    let Ok(old) = Peer::greeted(server.address(), &mut nothing) else {
        return Err(NotPassed::failed("the first client is not served"));
    };
    // With one client: by now it has everything open that it needs itself.
    let base = server.usage()?.descriptors - 1;
    let mut window = Window::open(&server, fault, None)?;
    let talks = session(&server, old, parts, &mut window);
    let said = says_counts(&mut server, &mut window)?;
    let seen = window.seen()?;
    if let Some(status) = server.ended()? {
        return Ok((case::ended(&server, status), seen));
    }
    if fault.is_some() && seen.injected == 0 {
        return Ok((Outcome::NotMet, seen));
    }
    ensure!(seen.lines <= MOST_CALLS, "it spins: {} system calls", seen.lines);
    ensure!(server.errors().lines().len() <= MOST_LINES, "it floods standard error");
    let outcome = match case::clients(&talks) {
        Outcome::Is(words) => {
            let later = if window.waited { ", once it is over" } else { "" };
            let line = if said { "" } else { "; the line of counts is lost" };
            Outcome::Is(format!("{words}{later}{line}"))
        }
        other => other,
    };
    let visits = if kind == Kind::SeveralLoops { VISITS_OF_ALL_LOOPS } else { 1 };
    is_whole(&mut server, base, visits)?;
    Ok((outcome, seen))
}

/// Clients of every kind, one after the other, so that the order of calls is the same each time.
fn session(server: &Server, mut old: Peer, parts: Parts, window: &mut Window) -> Vec<Talk> {
    let address = server.address();
    let mut talks = Vec::new();
    let half_typed = parts.half_typed.then(|| {
        let mut peer = Peer::greeted(address, window)?;
        peer.send(b"half")?;
        Ok(peer)
    });
    talks.push(old.send(b"a\n").and_then(|()| old.expect(b"1: a\n", window)));
    for _ in 0..3 {
        talks.push(ordinary(server, window));
    }
    talks.push(Peer::greeted(address, window).and_then(|mut peer| {
        peer.send(b"a\nb\ntail")?;
        peer.half_close()?;
        peer.expect(b"1: a\n2: b\n", window)?;
        peer.expect_end(window)
    }));
    if parts.held {
        talks.push(held(server, window));
    }
    if let Some(peer) = half_typed {
        talks.push(peer.and_then(|mut peer: Peer| peer.expect_end(window)));
    }
    // Not before: its end would come at one call or another.
    drop(old);
    talks
}

fn ordinary(server: &Server, window: &mut Window) -> Talk {
    let mut peer = Peer::greeted(server.address(), window)?;
    for number in 1..=3 {
        peer.send(b"line\n")?;
        peer.expect(format!("{number}: line\n").as_bytes(), window)?;
    }
    peer.send(b"quit\n")?;
    peer.expect(b"bye\n", window)?;
    peer.expect_end(window)
}

/// One that does not read until nothing more is taken from it, and then everything.
fn held(server: &Server, window: &mut Window) -> Talk {
    const SMALL_BYTES: usize = 4096;
    let mut peer = Peer::connect(server.address(), Some(SMALL_BYTES))?.welcomed(window)?;
    let line = "x".repeat(HELD_LINE_BYTES - 1);
    let lines = format!("{line}\n").repeat(HELD_LINES).into_bytes();
    let replies: String = (1..=HELD_LINES).map(|number| format!("{number}: {line}\n")).collect();
    let sent = peer.send_until_held(&lines)?;
    peer.exchange(&lines[sent..], replies.as_bytes(), window)?;
    peer.send(b"quit\n")?;
    peer.expect(b"bye\n", window)?;
    peer.expect_end(window)
}

/// Whether the line of counts is said that SIGUSR1 asks for. A line that cannot be written at once is dropped; but when
/// the faults are over the next one is not.
fn says_counts(server: &mut Server, window: &mut Window) -> Result<bool, NotPassed> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let counts = |lines: &[String]| lines.iter().any(|line| line.contains("open ")).then_some(());
    // A server that has ended has no process to tell.
    if server.signal(Signal::User1).is_err() || server.ended()?.is_some() {
        return Ok(true);
    }
    if server.errors().wait_for("counts", PATIENCE, counts).is_ok() {
        return Ok(true);
    }
    window.close()?;
    if server.ended()?.is_some() || server.signal(Signal::User1).is_err() {
        return Ok(true);
    }
    if let Err(silent) = server.errors().wait_for("line of counts", DEADLINE, counts) {
        // It may be about to end, and then that counts.
        return server.wait_exit(PATIENCE).map(|_| true).map_err(|_| silent);
    }
    Ok(false)
}

/// So many clients that hardly ever one of two loops gets none of them.
const VISITS_OF_ALL_LOOPS: usize = 8;

/// So long a server that loses clients may take to end, to be told from one that goes on.
const ENDING: Duration = Duration::from_millis(500);

/// Serves, holds no descriptor of anyone who has gone, and ends with its report.
fn is_whole(server: &mut Server, base: usize, visits: usize) -> Result<(), NotPassed> {
    let mut nothing = Window::none();
    for _ in 0..visits {
        match ordinary(server, &mut nothing) {
            Ok(()) => {}
            Err(Broken::Lost | Broken::Refused) => {
                let ended = server.wait_exit(ENDING).map(|status| case::ended(server, status).to_string());
                let why = ended.map_or(String::new(), |how| format!(", and it ends: {how}"));
                return Err(NotPassed::failed(format!("a client is lost or refused after the faults{why}")));
            }
            Err(Broken::Wrong(why)) => return Err(NotPassed::failed(format!("after the faults: {why}"))),
        }
    }
    let start = Instant::now();
    loop {
        let now = server.usage()?.descriptors;
        if now <= base {
            break;
        }
        ensure!(start.elapsed() < DEADLINE, "it had {base} descriptors without a client and keeps {now}");
        std::thread::sleep(Duration::from_millis(2));
    }
    server.signal(Signal::Terminate)?;
    let status = server.wait_exit(DEADLINE)?;
    ensure!(status.code() == Some(0), "after the faults it ends with {status}");
    ensure!(reports(server), "after the faults it ends without its report");
    Ok(())
}

/// Whether the report was said.
pub fn reports(server: &Server) -> bool {
    server.output().lines().iter().any(|line| line.starts_with("served "))
}
