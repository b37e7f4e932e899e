//! System calls that fail: `strace` makes them, since no kernel can be asked to. Those that move bytes are in a file of
//! their own.
//!
//! Servers use different calls for the same thing, so a fault goes into each that could be it; a case in which the server made
//! none of them is skipped loudly.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::watch::{answers, at_rest, descriptors_are_back, ends_with_report, quiet, wait_until, works};
use crate::process::{Server, Signal, Usage};
use crate::{Case, Client, Context, DEADLINE, GREETING, Needs, NotPassed, Outcome, Pace, ensure};

pub(super) const fn case(name: &'static str, rule: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, rule, needs: Needs::Spawn, pace: Pace::Alone, run }
}

pub(crate) const CASES: &[Case] = &[
    case(
        "faults::accept_loses_one_connection",
        "rule 10: ECONNABORTED, EPROTO and the pending network errors drop one connection, never the listener",
        accept_loses_one_connection,
    ),
    case(
        "faults::accept_has_no_room_for_a_while",
        "rule 10: EMFILE, ENFILE, ENOBUFS, ENOMEM: tried again when a connection closes and every second",
        accept_has_no_room_for_a_while,
    ),
    case(
        "faults::accept_never_has_room",
        "rule 10: out of descriptors or buffers: no spin, no flood of messages, old clients are served",
        accept_never_has_room,
    ),
    case(
        "faults::a_listener_that_cannot_be_watched_again_is_not_deaf",
        "rule 10: accepting goes on when a connection closes or after a second",
        a_listener_that_cannot_be_watched_again_is_not_deaf,
    ),
    case(
        "faults::an_interrupted_wait_is_no_error",
        "rule 7: no stall; rule 8: timers act",
        an_interrupted_wait_is_no_error,
    ),
    case(
        "faults::a_connection_that_cannot_be_registered_is_dropped",
        "rule 10: what fails for one connection drops that one, never the listener",
        a_connection_that_cannot_be_registered_is_dropped,
    ),
    case(
        "faults::a_thread_that_cannot_be_made_costs_one_client",
        "rule 10: what fails for one connection drops that one, never the listener",
        a_thread_that_cannot_be_made_costs_one_client,
    ),
];

const ACCEPT: &[&str] = &["accept", "accept4"];
const WAIT: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// Fails when no call was made to fail: then the case has shown nothing.
pub(super) fn something_failed(server: &Server) -> Outcome {
    if server.trace()?.injected()? == 0 {
        return Err(NotPassed::skipped_loudly("the server made none of the system calls that were to fail"));
    }
    Ok(())
}

/// A server with several loops has one fault or more for each: until so many clients in a row have met none.
pub(super) fn faults_are_over(server: &Server) -> Outcome {
    const IN_A_ROW: usize = 50;
    let deadline = Instant::now() + DEADLINE;
    let mut row = 0;
    while row < IN_A_ROW {
        match works(server.address()) {
            Ok(()) => row += 1,
            Err(failed) if Instant::now() > deadline => return Err(failed),
            Err(_) => row = 0,
        }
    }
    Ok(())
}

/// After its faults the server is as good as new.
pub(super) fn is_whole(server: &mut Server, before: Usage) -> Outcome {
    server.ensure_alive()?;
    works(server.address())?;
    descriptors_are_back(server, before)?;
    quiet(server, Duration::from_millis(500), 1, "after the faults")?;
    something_failed(server)
}

fn accept_loses_one_connection(context: &Context) -> Outcome {
    /// Far more than eight clients need, and less than a second's rest at each error.
    const LIMIT: Duration = Duration::from_secs(3);
    for error in [
        "ECONNABORTED",
        "EPROTO",
        "ENETDOWN",
        "ENOPROTOOPT",
        "EHOSTDOWN",
        "ENONET",
        "EHOSTUNREACH",
        "EOPNOTSUPP",
        "ENETUNREACH",
        "EPERM",
        "EINTR",
    ] {
        let place = |what: NotPassed| what.within(format!("every second accept fails with {error}"));
        let launch = context.launch(&[])?.inject(ACCEPT, &format!("error={error}:when=2+2"))?;
        let mut server = launch.start()?;
        let before = at_rest(&server)?;
        let start = Instant::now();
        for _ in 0..3 {
            works(server.address()).map_err(place)?;
        }
        let mut clients = (0..5).map(|_| Client::connect(server.address())).collect::<Result<Vec<_>, _>>()?;
        for client in &mut clients {
            client.expect(GREETING).map_err(place)?;
            answers(client, 1).map_err(place)?;
        }
        let took = start.elapsed();
        ensure!(took < LIMIT, "every second accept fails with {error}, and eight clients waited {took:?}");
        drop(clients);
        is_whole(&mut server, before).map_err(place)?;
    }
    Ok(())
}

fn accept_has_no_room_for_a_while(context: &Context) -> Outcome {
    for error in ["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"] {
        let place = |what: NotPassed| what.within(format!("the second and third accept fail with {error}"));
        let launch = context.launch(&[])?.inject(ACCEPT, &format!("error={error}:when=2..3"))?;
        let mut server = launch.start()?;
        let before = at_rest(&server)?;
        for _ in 0..3 {
            works(server.address()).map_err(place)?;
        }
        is_whole(&mut server, before).map_err(place)?;
    }
    Ok(())
}

fn accept_never_has_room(context: &Context) -> Outcome {
    const TIME: Duration = Duration::from_secs(3);
    /// Once a second, and once more for each connection that closed.
    const ACCEPTS: usize = 8;
    /// A line every 100 ms, at most four calls each; and the server's own few.
    const CALLS: usize = 200;
    for error in ["EMFILE", "ENOMEM"] {
        let place = |what: NotPassed| what.within(format!("each accept from the third on fails with {error}"));
        let launch = context.launch(&[])?.inject(ACCEPT, &format!("error={error}:when=3+"))?;
        let mut server = launch.start()?;
        let mut served = Client::greeted(server.address())?;
        let waiting = (0..5).map(|_| Client::connect(server.address())).collect::<Result<Vec<_>, _>>()?;
        let trace = server.trace()?;
        wait_until("accept fails", || Ok(trace.injected()? > 0)).map_err(place)?;
        let mark = trace.mark()?;
        let start = Instant::now();
        let mut number = 0;
        while start.elapsed() < TIME {
            number += 1;
            answers(&mut served, number).map_err(place)?;
            std::thread::sleep(Duration::from_millis(100));
        }
        let calls = trace.calls_since(mark)?;
        let accepts = calls.iter().filter(|call| ACCEPT.contains(&call.name.as_str())).count();
        ensure!(
            accepts <= ACCEPTS,
            "each accept fails with {error}, and the server tried {accepts} times in {TIME:?}; at most {ACCEPTS} are right"
        );
        ensure!(
            calls.len() <= CALLS,
            "each accept fails with {error}: in {TIME:?} the server made {} system calls to answer {number} lines, at most {CALLS} \
             are right",
            calls.len()
        );
        let (said, failed) = (server.errors().lines().len(), trace.injected()?);
        ensure!(
            said <= 5 && said < failed,
            "{failed} accepts failed with {error}: {said} lines on standard error, not fewer than those\n{}",
            server.said()
        );
        server.signal(Signal::Terminate)?;
        served.expect_end().map_err(place)?;
        drop((served, waiting));
        ends_with_report(&mut server, DEADLINE).map_err(place)?;
    }
    Ok(())
}

/// For lack of descriptors the listener is watched no more; then the call that is to watch it again fails as well.
fn a_listener_that_cannot_be_watched_again_is_not_deaf(context: &Context) -> Outcome {
    let at_start = at_the_start(context, "epoll_ctl")?;
    if at_start == 0 {
        return Err(NotPassed::skipped("it does not watch its listener with epoll"));
    }
    // The first client is watched, the listener is not any more, and now again.
    let again = at_start + 3;
    let mut server = context
        .launch(&[])?
        .inject(ACCEPT, "error=EMFILE:when=2")?
        .inject(&["epoll_ctl"], &format!("error=ENOMEM:when={again}"))?
        .start()?;
    let before = at_rest(&server)?;
    let mut first = Client::greeted(server.address())?;
    works(server.address())
        .map_err(|error| error.within("the listener could not be watched again at the first try"))?;
    answers(&mut first, 1)?;
    drop(first);
    if server.trace()?.injected()? < 2 {
        return Err(NotPassed::skipped_loudly("the server did not watch its listener anew where that was to fail"));
    }
    is_whole(&mut server, before)
}

fn an_interrupted_wait_is_no_error(context: &Context) -> Outcome {
    const IDLE: Duration = Duration::from_secs(1);
    // Every third: a server that waits twice a turn would always meet every second one at the same place.
    // A look at standard output may be a poll as well, when it starts.
    let polls = at_the_start(context, "poll")?.max(at_the_start(context, "ppoll")?) + 1;
    let mut server = context
        .launch(&["--idle-timeout", "1"])?
        .inject(WAIT, "error=EINTR:when=1+3")?
        .inject(&["poll", "ppoll"], &format!("error=EINTR:when={polls}+3"))?
        .start()?;
    let start = Instant::now();
    let mut silent = Client::greeted(server.address())?;
    let mut client = Client::greeted(server.address())?;
    for number in 1..=100 {
        answers(&mut client, number)?;
    }
    silent.expect_gone(DEADLINE)?;
    let took = start.elapsed();
    ensure!(took >= IDLE, "every third wait was interrupted: an idle limit of {IDLE:?} fired after {took:?}");
    client.expect_gone(DEADLINE)?;
    works(server.address())?;
    something_failed(&server)?;
    server.signal(Signal::Terminate)?;
    ends_with_report(&mut server, DEADLINE).map(|_| ())
}

/// How often a thread of a server that starts makes this call before it sleeps, at most: read and write serve many
/// purposes, and a fault is to hit a connection. strace counts the calls of each thread for itself.
pub(super) fn at_the_start(context: &Context, call: &str) -> Result<usize, NotPassed> {
    let server = context.launch(&[])?.traced(&[])?.start()?;
    let trace = server.trace()?;
    trace.mark()?;
    let mut counts = BTreeMap::new();
    for made in trace.calls_since(0)?.iter().filter(|made| made.name == call) {
        *counts.entry(made.thread).or_insert(0) += 1;
    }
    Ok(counts.into_values().max().unwrap_or(0))
}

fn a_connection_that_cannot_be_registered_is_dropped(context: &Context) -> Outcome {
    if context.traits().thread_a_connection {
        return Err(NotPassed::skipped("with a thread for each connection none is registered anywhere"));
    }
    /// A server with several loops registers them in one or the other.
    const CLIENTS: usize = 20;
    let registered = at_the_start(context, "epoll_ctl")?;
    for error in ["ENOMEM", "ENOSPC"] {
        let place =
            |what: NotPassed| what.within(format!("the first epoll_ctl for a connection fails with {error}"));
        let when = format!("error={error}:when={}", registered + 1);
        let mut server = context.launch(&[])?.inject(&["epoll_ctl"], &when)?.start()?;
        let before = at_rest(&server)?;
        for _ in 0..CLIENTS {
            // The one that meets the fault is closed; any other is served.
            let mut client = Client::connect(server.address())?;
            if client.expect(GREETING).is_err() {
                client.expect_gone(DEADLINE).map_err(place)?;
            }
            if server.trace()?.injected()? > 0 {
                break;
            }
        }
        faults_are_over(&server).map_err(place)?;
        is_whole(&mut server, before).map_err(place)?;
    }
    Ok(())
}

fn a_thread_that_cannot_be_made_costs_one_client(context: &Context) -> Outcome {
    const CLIENTS: usize = 10;
    if !context.traits().thread_a_connection {
        return Err(NotPassed::skipped("no thread is made for a connection"));
    }
    let made = at_the_start(context, "clone3")?.max(at_the_start(context, "clone")?);
    let launch = context.launch(&[])?.inject(&["clone", "clone3"], &format!("error=EAGAIN:when={}", made + 2))?;
    let mut server = launch.start()?;
    let before = at_rest(&server)?;
    let mut lost = 0;
    for _ in 0..CLIENTS {
        // Told that the server is full, or just closed: that client knows, and the next one is served again.
        let mut client = Client::connect(server.address())?;
        if client.expect(GREETING).and_then(|()| answers(&mut client, 1)).is_err() {
            client.expect_gone(DEADLINE)?;
            lost += 1;
        }
        server.ensure_alive()?;
    }
    something_failed(&server)?;
    ensure!(lost <= 1, "one thread could not be made, and {lost} of {CLIENTS} clients were not served");
    is_whole(&mut server, before)
}
