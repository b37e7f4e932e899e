//! The end of the program: what it still owes, and to whom.

use std::time::{Duration, Instant};

use super::signals::stuck_server;
use super::watch::{answers, ends_with_report, refuses, wait_until};
use crate::process::{Signal, need_descriptors};
use crate::{Case, Client, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

const fn case(name: &'static str, rule: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, rule, needs: Needs::Spawn, pace: Pace::Together, run }
}

pub(crate) const CASES: &[Case] = &[
    case(
        "draining::lines_that_came_are_answered",
        "rule 12: each connection gets one last turn to receive, its complete lines are answered, an unterminated tail is dropped",
        lines_that_came_are_answered,
    ),
    case(
        "draining::the_queue_is_served",
        "rule 12: one sweep of accepts to would-block, then the listeners close: who was in the queue is served",
        the_queue_is_served,
    ),
    case(
        "draining::output_is_flushed",
        "rule 12: output is flushed; rule 5: the last reply never dies in a reset",
        output_is_flushed,
    ),
    case(
        "draining::new_connections_are_refused",
        "rule 12: the listeners close at once, while connections are still being drained",
        new_connections_are_refused,
    ),
    case(
        "draining::idle_connections_end",
        "rule 12: an idle connection is closed at once; it is waited for no longer than lingering takes",
        idle_connections_end,
    ),
    case(
        "draining::a_stuck_client_is_waited_for_until_the_limit",
        "rule 12: all within the limit of the option; then the report and exit 0",
        a_stuck_client_is_waited_for_until_the_limit,
    ),
];

/// More than a server looks at in one turn.
const MANY: usize = 600;

fn lines_that_came_are_answered(context: &Context) -> Outcome {
    need_descriptors(MANY)?;
    let mut server = context.spawn(&["--backlog", "4096"])?;
    let mut many = (0..MANY).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    let mut client = Client::greeted(server.address())?;
    let mut quitting = Client::greeted(server.address())?;
    let mut half = Client::greeted(server.address())?;
    let mut long = Client::greeted(server.address())?;
    half.send(b"half a li")?;
    server.freeze()?;
    for (n, client) in many.iter_mut().enumerate() {
        client.send(format!("line of {n}\ntail").as_bytes())?;
    }
    client.send(b"a\nb\ntail")?;
    quitting.send(b"a\nquit\nb\n")?;
    half.send(b"ne\nx")?;
    long.send(&[b'z'; 5000])?;
    server.signal(Signal::Terminate)?;
    server.thaw()?;
    client.expect(b"1: a\n2: b\n")?;
    client.expect_end()?;
    quitting.expect(b"1: a\nbye\n")?;
    quitting.expect_end()?;
    half.expect(b"1: half a line\n")?;
    half.expect_end()?;
    long.expect(b"line too long\n")?;
    long.expect_end()?;
    for (n, client) in many.iter_mut().enumerate() {
        let place =
            |error: NotPassed| error.within(format!("client {n} of {MANY} with a line on its way at SIGTERM"));
        client.expect(format!("1: line of {n}\n").as_bytes()).map_err(place)?;
        client.expect_end().map_err(place)?;
    }
    drop((client, quitting, half, long, many));
    let (served, peak) = ends_with_report(&mut server, DEADLINE)?;
    let all = MANY as u64 + 4;
    ensure!((served, peak) == (all, all), "{all} clients were served; the report says {served} and {peak}");
    Ok(())
}

fn the_queue_is_served(context: &Context) -> Outcome {
    const CLIENTS: usize = 50;
    let mut server = context.spawn(&[])?;
    server.freeze()?;
    let mut clients = Vec::new();
    for n in 0..CLIENTS {
        let mut client = Client::connect(server.address())?;
        client.send(format!("client {n}\ntail").as_bytes())?;
        clients.push(client);
    }
    server.signal(Signal::Terminate)?;
    server.thaw()?;
    for (n, client) in clients.iter_mut().enumerate() {
        let place = |error: NotPassed| error.within(format!("client {n} of {CLIENTS} in the queue at SIGTERM"));
        client.expect(format!("ready\n1: client {n}\n").as_bytes()).map_err(place)?;
        client.expect_end().map_err(place)?;
    }
    drop(clients);
    let (served, _) = ends_with_report(&mut server, DEADLINE)?;
    ensure!(
        served == CLIENTS as u64,
        "{CLIENTS} clients were in the queue at SIGTERM; the report says {served} were served"
    );
    Ok(())
}

fn output_is_flushed(context: &Context) -> Outcome {
    const LIMIT_BYTES: usize = 1 << 30;
    let (mut server, mut client) = stuck_server(context, "30")?;
    server.signal(Signal::Terminate)?;
    wait_until("after SIGTERM connecting is refused", || refuses(server.address()))?;
    // A slow reader: much of it waits in the server for as long as that.
    std::thread::sleep(Duration::from_secs(1));
    let came = client.take_to_end(LIMIT_BYTES)?;
    drop(client);
    // How many lines the server had taken only the server knows: what it says is the replies to the first so many.
    let lines = came.iter().filter(|&&byte| byte == b'\n').count();
    let mut right = b"ready\n".to_vec();
    (1..lines).for_each(|n| right.extend_from_slice(format!("{n}: abc\n").as_bytes()));
    let differ = came.iter().zip(&right).position(|(a, b)| a != b).unwrap_or(came.len().min(right.len()));
    let from = differ.saturating_sub(40);
    ensure!(
        came == right,
        "a client that had not read did so after SIGTERM: {} bytes came, {lines} lines; not right from byte {differ}: {:?}",
        came.len(),
        String::from_utf8_lossy(&came[from..came.len().min(differ + 40)])
    );
    ensure!(lines > 1000, "a client that had not read did so after SIGTERM, and got {lines} lines only");
    ends_with_report(&mut server, DEADLINE).map(|_| ())
}

fn new_connections_are_refused(context: &Context) -> Outcome {
    let (mut server, stuck) = stuck_server(context, "30")?;
    server.signal(Signal::Terminate)?;
    wait_until("after SIGTERM connecting is refused", || refuses(server.address()))?;
    server.ensure_alive()?;
    ensure!(server.listening_ports()?.is_empty(), "connecting is refused, but a listener is still open");
    drop(stuck);
    ends_with_report(&mut server, DEADLINE).map(|_| ())
}

fn idle_connections_end(context: &Context) -> Outcome {
    const CLIENTS: usize = 100;
    // Clients that close when the server has: nothing is waited for.
    let mut server = context.spawn(&["--drain-timeout", "60"])?;
    let mut clients = (0..CLIENTS).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    answers(&mut clients[0], 1)?;
    server.signal(Signal::Terminate)?;
    for mut client in clients {
        client.expect_end()?;
    }
    let (served, peak) = ends_with_report(&mut server, DEADLINE)?;
    ensure!(
        (served, peak) == (CLIENTS as u64, CLIENTS as u64),
        "{CLIENTS} clients were served at a time; the report says {served} and {peak}"
    );

    // Clients that do not close: they are given up after two seconds, long before the limit of a minute.
    let mut server = context.spawn(&["--drain-timeout", "60"])?;
    let mut clients = (0..CLIENTS).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    server.signal(Signal::Terminate)?;
    for client in &mut clients {
        client.expect_end()?;
    }
    ends_with_report(&mut server, DEADLINE)
        .map(|_| ())
        .map_err(|error| error.within("clients that stay after the end"))
}

fn a_stuck_client_is_waited_for_until_the_limit(context: &Context) -> Outcome {
    const LIMIT: Duration = Duration::from_secs(1);
    let (mut server, stuck) = stuck_server(context, "1")?;
    let start = Instant::now();
    server.signal(Signal::Terminate)?;
    let (served, peak) = ends_with_report(&mut server, DEADLINE)?;
    let took = start.elapsed();
    ensure!(
        took >= LIMIT && took < LIMIT + Duration::from_secs(8),
        "a client with replies pending does not read, and draining is limited to {LIMIT:?}: the server ended after {took:?}"
    );
    ensure!((served, peak) == (1, 1), "one client was served; the report says {served} and {peak}");
    drop(stuck);
    Ok(())
}
