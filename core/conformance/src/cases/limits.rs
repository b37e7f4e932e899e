//! Limits: descriptors, a connection limit that was set, memory.

use std::time::{Duration, Instant};

use super::watch::{answers, at_rest, descriptors_are_back, ends_with_report, quiet, wait_until, works};
use crate::process::{Server, Signal};
use crate::{Case, Client, Context, DEADLINE, GREETING, Needs, NotPassed, Outcome, Pace, ensure};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "limits::out_of_descriptors_is_no_spin",
        rule: "rule 10: out of descriptors: no spin, no flood of messages, old clients are served, and the rest is accepted \
               when a connection closes or a second later",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: out_of_descriptors_is_no_spin,
    },
    Case {
        name: "limits::a_crowd_at_the_start_takes_nothing_from_the_server",
        rule: "rule 10: out of descriptors, clients wait; a server that has said that it listens does not end for it",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: a_crowd_at_the_start_takes_nothing_from_the_server,
    },
    Case {
        name: "limits::the_soft_limit_is_raised",
        rule: "descriptors are the limit: the soft limit is raised to the hard one",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: the_soft_limit_is_raised,
    },
    Case {
        name: "limits::one_too_many_is_told",
        rule: "rule 10: at a connection limit that was set a new client is told \"server full\" and closed",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: one_too_many_is_told,
    },
    Case {
        name: "limits::a_crowd_is_refused_at_once",
        rule: "rule 10: each refused client is told \"server full\", however many come at once; rule 5: it ends without a reset",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: a_crowd_is_refused_at_once,
    },
    Case {
        name: "limits::refused_clients_that_stay_cost_nothing",
        rule: "rule 10: at most 64 refused ones linger, then accepting pauses; rule 7: refused connections cost no CPU",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: refused_clients_that_stay_cost_nothing,
    },
    Case {
        name: "limits::memory_does_not_follow_clients_that_do_not_read",
        rule: "rule 3: memory stays bounded by the two buffers",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: memory_does_not_follow_clients_that_do_not_read,
    },
];

const FULL: &[u8] = b"server full\n";

/// Descriptors for clients, beside those that the server needs itself.
const DESCRIPTORS: usize = 20;
/// Clients that come: far more than fit.
const CLIENTS: usize = 60;

fn out_of_descriptors_is_no_spin(context: &Context) -> Outcome {
    let allowed = own_descriptors(context)? + DESCRIPTORS;
    let limit = format!("--nofile={allowed}:{allowed}");
    let server = context.launch(&[])?.under(&["prlimit", &limit, "--"])?.start()?;
    let before = at_rest(&server)?;
    let clients = (0..CLIENTS).map(|_| Client::connect(server.address())).collect::<Result<Vec<_>, _>>()?;
    let (mut served, waiting) = parted(clients)?;
    let count = served.len();
    ensure!(
        (4..=CLIENTS / 2).contains(&count),
        "{count} of {CLIENTS} clients were greeted with {allowed} descriptors, {DESCRIPTORS} more than without clients\n{}",
        server.said()
    );
    // A second look each second, and one wake-up more for whatever woke it last.
    quiet(&server, Duration::from_secs(3), 8, "out of descriptors, with clients in the queue")?;
    for client in &mut served {
        client.expect(GREETING)?;
        answers(client, 1)?;
    }
    let said = server.errors().lines().len();
    ensure!(said <= 5, "{said} lines on standard error in about 5 s without descriptors\n{}", server.said());

    let start = Instant::now();
    let left = served.split_off(count / 2);
    let leaving = left.len();
    drop(left);
    wait_until(&format!("{leaving} clients left, and as many that waited are greeted"), || {
        Ok(waiting.iter().filter(|client| has_greeting(client)).count() >= leaving)
    })?;
    // "Within about a second", and a lot for a busy machine.
    let took = start.elapsed();
    ensure!(
        took < Duration::from_secs(6),
        "{leaving} clients left, and it took {took:?} until as many were accepted"
    );
    for client in &mut served {
        answers(client, 2)?;
    }
    drop((served, waiting));
    works(server.address())?;
    descriptors_are_back(&server, before)
}

/// What the server needs for itself must be there before the first client is let in. A delay of each poller's making gives
/// the clients time to be first.
fn a_crowd_at_the_start_takes_nothing_from_the_server(context: &Context) -> Outcome {
    let allowed = own_descriptors(context)? + DESCRIPTORS;
    let limit = format!("--nofile={allowed}:{allowed}");
    let launch = context.launch(&[])?.under(&["prlimit", &limit, "--"])?;
    let mut server = launch.inject(&["epoll_create1"], "delay_enter=300000")?.start()?;
    let clients = (0..CLIENTS).map(|_| Client::connect(server.address())).collect::<Result<Vec<_>, _>>()?;
    let (served, waiting) = parted(clients)?;
    server.ensure_alive()?;
    for mut client in served {
        client.expect(GREETING)?;
        answers(&mut client, 1)?;
    }
    drop(waiting);
    works(server.address())
}

fn the_soft_limit_is_raised(context: &Context) -> Outcome {
    let allowed = own_descriptors(context)? + DESCRIPTORS;
    let limit = format!("--nofile={allowed}:{}", allowed + 10 * CLIENTS);
    let server = context.launch(&[])?.under(&["prlimit", &limit, "--"])?.start()?;
    let mut clients = (0..CLIENTS).map(|_| Client::connect(server.address())).collect::<Result<Vec<_>, _>>()?;
    for (n, client) in clients.iter_mut().enumerate() {
        let place = |error: NotPassed| {
            error.within(format!("client {n} of {CLIENTS}; the server's soft limit was {allowed} descriptors"))
        };
        client.expect(GREETING).map_err(place)?;
    }
    Ok(())
}

/// How many descriptors the server has without clients.
fn own_descriptors(context: &Context) -> Result<usize, NotPassed> {
    Ok(at_rest(&context.spawn(&[])?)?.descriptors)
}

/// The clients that are greeted before greetings stop coming, and those that are not.
fn parted(clients: Vec<Client>) -> Result<(Vec<Client>, Vec<Client>), NotPassed> {
    /// Longer than the second after which accepting is tried again.
    const NO_MORE: Duration = Duration::from_millis(1500);
    // In a server with several loops each has a queue, so these need not be the first ones; but there is one at least.
    wait_until("a client is greeted", || Ok(clients.iter().any(has_greeting)))?;
    std::thread::sleep(NO_MORE);
    Ok(clients.into_iter().partition(has_greeting))
}

fn has_greeting(client: &Client) -> bool {
    let mut greeting = [0; GREETING.len()];
    let mut peek = || {
        client.stream().set_nonblocking(true)?;
        let peeked = client.stream().peek(&mut greeting);
        client.stream().set_nonblocking(false)?;
        peeked
    };
    peek().is_ok_and(|length| length == GREETING.len())
}

fn full_server(context: &Context, limit: usize) -> Result<(Server, Vec<Client>), NotPassed> {
    let server = context.spawn(&["--max-connections", &limit.to_string()])?;
    let clients = (0..limit).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    Ok((server, clients))
}

fn is_refused(mut client: Client) -> Outcome {
    client.expect(FULL)?;
    client.expect_end()
}

fn one_too_many_is_told(context: &Context) -> Outcome {
    let (mut server, mut clients) = full_server(context, 4)?;
    for _ in 0..3 {
        is_refused(Client::connect(server.address())?)?;
    }
    for client in &mut clients {
        answers(client, 1)?;
    }
    for round in 0..3 {
        let mut leaving = clients.remove(0);
        leaving.send(b"quit\n")?;
        leaving.expect(b"bye\n")?;
        leaving.expect_end()?;
        drop(leaving);
        clients.push(gets_in(&server)?);
        is_refused(Client::connect(server.address())?)
            .map_err(|error| error.within(format!("after place {round} was taken again")))?;
    }
    drop(clients);
    server.signal(Signal::Terminate)?;
    let (served, peak) = ends_with_report(&mut server, DEADLINE)?;
    ensure!(
        (served, peak) == (7, 4),
        "seven clients were served, four at a time, others refused; the report says {served} and {peak}"
    );
    Ok(())
}

/// Tries until there is a place: the server may hear of the leaving client a moment after that has closed.
fn gets_in(server: &Server) -> Result<Client, NotPassed> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let mut client = Client::connect(server.address())?;
        // Both begin with another letter: one byte tells.
        let first = client.expect(&GREETING[..1]);
        if first.is_ok() {
            client.expect(&GREETING[1..])?;
            return Ok(client);
        }
        ensure!(Instant::now() < deadline, "a client left, and none gets its place for {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn a_crowd_is_refused_at_once(context: &Context) -> Outcome {
    /// More than the 64 that may linger at a time, and few enough for any listen queue.
    const CROWD: usize = 120;
    let (server, mut clients) = full_server(context, 1)?;
    let before = at_rest(&server)?;
    server.freeze()?;
    let mut crowd = Vec::new();
    for n in 0..CROWD {
        let mut client = Client::connect(server.address())?;
        // Unread input must not turn the refusal into a reset.
        if n % 2 == 0 {
            client.send(b"a\nquit\n")?;
        }
        crowd.push(client);
    }
    server.thaw()?;
    for client in crowd {
        is_refused(client)?;
    }
    answers(&mut clients[0], 1)?;
    descriptors_are_back(&server, before)
}

fn refused_clients_that_stay_cost_nothing(context: &Context) -> Outcome {
    const CROWD: usize = 100;
    /// The rule's number.
    const REFUSED_AT_ONCE: usize = 64;
    let (server, mut clients) = full_server(context, 1)?;
    let before = at_rest(&server)?;
    let mut crowd = (0..CROWD).map(|_| Client::connect(server.address())).collect::<Result<Vec<_>, _>>()?;
    for client in &mut crowd[..REFUSED_AT_ONCE] {
        client.expect(FULL)?;
    }
    let held = at_rest(&server)?.descriptors.saturating_sub(before.descriptors);
    ensure!(
        held <= REFUSED_AT_ONCE,
        "of {CROWD} refused clients that do not leave the server holds {held} at one time; {REFUSED_AT_ONCE} are right"
    );
    // Lingering ends by itself within two seconds: a wake-up for each connection that is closed, or one for all of them,
    // and one each time that accepting goes on.
    quiet(&server, Duration::from_secs(3), 2 * CROWD as u64, "with refused clients that do not leave")?;
    answers(&mut clients[0], 1)?;
    for client in &mut crowd[REFUSED_AT_ONCE..] {
        client.expect(FULL)?;
    }
    for client in &mut crowd {
        client.expect_end()?;
    }
    descriptors_are_back(&server, before)?;
    quiet(&server, Duration::from_secs(1), 1, "after the refused clients were given up")
}

fn memory_does_not_follow_clients_that_do_not_read(context: &Context) -> Outcome {
    const CLIENTS: u64 = 10;
    /// Far above two buffers and a thread's stack, far below what such a client sends when nothing stops it.
    const BYTES_A_CLIENT: u64 = 1 << 20;
    /// What the kernel's own buffers may take at both ends before the client must wait.
    const KERNEL_BYTES: usize = 64 << 20;
    let server = context.spawn(&[])?;
    works(server.address())?;
    let before = at_rest(&server)?;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = Client::connect_small(server.address(), 4096)?;
        client.flood(b"abc\n", Duration::from_millis(200), KERNEL_BYTES)?;
        clients.push(client);
    }
    let after = server.usage()?;
    let grown = after.rss_bytes.saturating_sub(before.rss_bytes);
    ensure!(
        grown < CLIENTS * BYTES_A_CLIENT,
        "{CLIENTS} clients that send and do not read: the server grew by {grown} bytes"
    );
    for client in &mut clients {
        // They are held back, not cut off.
        client.expect(b"ready\n1: abc\n2: abc\n")?;
    }
    Ok(())
}
