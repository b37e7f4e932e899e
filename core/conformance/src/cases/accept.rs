//! Accepting: both address families, what fails in the queue, what a listener leaves behind.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use super::watch::{answers, at_rest, descriptors_are_back, quiet, works};
use crate::process::{Signal, inherited_by_this_process, need_descriptors};
use crate::{Case, Client, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "accept::resets_in_the_queue_end_nothing",
        rule: "rule 10: a connection that dies in the queue is dropped by itself, and the listener goes on",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: resets_in_the_queue_end_nothing,
    },
    Case {
        name: "accept::a_full_queue_does_not_hold_up_a_client",
        rule: "rule 9: accepting is bounded in a turn",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: a_full_queue_does_not_hold_up_a_client,
    },
    Case {
        name: "accept::both_families_connect",
        rule: "rule 14: [::] is dual-stack, so that IPv4 and IPv6 clients both connect",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: both_families_connect,
    },
    Case {
        name: "accept::the_port_is_free_at_once",
        rule: "rule 14: restart at once on the same port",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: the_port_is_free_at_once,
    },
    Case {
        name: "accept::nothing_is_inherited",
        rule: "rule 10: all descriptors are close-on-exec",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: nothing_is_inherited,
    },
];

/// Waiting in one queue: below what Linux allows by itself (`net.core.somaxconn` is 4096).
const QUEUED: usize = 3000;

fn somaxconn() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/net/core/somaxconn").ok();
    // Where nobody can be asked, 128 is what every system allows.
    limit.and_then(|text| text.trim().parse().ok()).unwrap_or(128)
}

/// How many connections fit in the queue with room to spare: what does not fit would wait for a second and more.
fn fitting() -> usize {
    QUEUED.min(somaxconn() * 3 / 4)
}

fn resets_in_the_queue_end_nothing(context: &Context) -> Outcome {
    need_descriptors(fitting())?;
    let server = context.spawn(&["--backlog", "4096"])?;
    works(server.address())?;
    let before = at_rest(&server)?;
    server.freeze()?;
    for n in 0..fitting() {
        let mut client = Client::connect(server.address())?;
        match n % 3 {
            0 => client.reset()?,
            1 => {
                client.send(b"never answered\n")?;
                client.reset()?;
            }
            // An ordinary end, for a queue of mixed fates.
            _ => client.send(b"quit\n")?,
        }
    }
    let mut client = Client::connect(server.address())?;
    client.send(b"a\nquit\n")?;
    server.thaw()?;
    client.expect(b"ready\n1: a\nbye\n")?;
    client.expect_end()?;
    drop(client);
    works(server.address())?;
    descriptors_are_back(&server, before)?;
    quiet(&server, Duration::from_secs(1), 1, "after a queue full of dead connections")?;
    let said = server.errors().lines().len();
    ensure!(said <= 10, "{said} lines on standard error for one burst of resets\n{}", server.said());
    Ok(())
}

fn a_full_queue_does_not_hold_up_a_client(context: &Context) -> Outcome {
    /// A client that was there already waits for no more than this many new ones.
    const ACCEPTS_A_TURN: usize = 1024;
    let count = fitting();
    if count <= 2 * ACCEPTS_A_TURN {
        return Err(NotPassed::skipped_loudly(format!("only {count} connections fit in a listen queue here")));
    }
    need_descriptors(count)?;
    let server = context.launch(&["--backlog", "4096"])?.traced(&[])?.start()?;
    let mut client = Client::greeted(server.address())?;
    let trace = server.trace()?;
    let mark = trace.mark()?;
    server.freeze()?;
    let queue = (0..count).map(|_| Client::connect(server.address())).collect::<Result<Vec<_>, _>>()?;
    client.send(b"first\n")?;
    server.thaw()?;
    client.expect(b"1: first\n")?;
    for mut waiting in queue {
        waiting.expect(crate::GREETING)?;
    }
    let calls = trace.calls_since(mark)?;
    let reply = calls.iter().position(|call| call.text.contains("1: first"));
    let reply = reply.ok_or_else(|| NotPassed::failed("the suite: the reply is not in strace's log"))?;
    let accepts = calls[..reply].iter().filter(|call| call.name.starts_with("accept")).count();
    ensure!(
        accepts <= ACCEPTS_A_TURN,
        "{count} connections were waiting in the queue when an open one sent a line: its reply came after {accepts} accepts"
    );
    Ok(())
}

fn both_families_connect(context: &Context) -> Outcome {
    let server = context.spawn(&["--listen", "[::]:0"])?;
    let port = server.address().port();
    works(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return Err(NotPassed::skipped_loudly("this machine has no IPv6: only IPv4 clients were tried"));
    }
    works(SocketAddr::from((Ipv6Addr::LOCALHOST, port)))
}

fn the_port_is_free_at_once(context: &Context) -> Outcome {
    let mut server = context.spawn(&["--listen", "127.0.0.1:0"])?;
    let address = server.address();
    for round in ["SIGTERM", "SIGKILL", "SIGTERM again"] {
        // The server closes first in each of these, so the old connection's state stays at its end.
        let mut quitting = Client::greeted(address)?;
        quitting.send(b"quit\n")?;
        quitting.expect(b"bye\n")?;
        quitting.expect_end()?;
        drop(quitting);
        let mut open = Client::greeted(address)?;
        answers(&mut open, 1)?;
        let signal = if round == "SIGKILL" { Signal::Kill } else { Signal::Terminate };
        server.signal(signal)?;
        open.expect_gone(DEADLINE)?;
        drop(open);
        server.wait_exit(DEADLINE)?;
        server = context
            .spawn(&["--listen", &address.to_string()])
            .map_err(|error| error.within(format!("started again on {address} right after {round}")))?;
        works(address)?;
    }
    Ok(())
}

fn nothing_is_inherited(context: &Context) -> Outcome {
    let server = context.spawn(&["--idle-timeout", "30"])?;
    let mut clients = (0..5).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    answers(&mut clients[0], 1)?;
    // What this program itself inherited, from a make or a CI runner, reaches every child of its.
    let ours = inherited_by_this_process()?;
    let inherited: Vec<String> =
        server.inherited_descriptors()?.into_iter().filter(|one| !ours.contains(one)).collect();
    ensure!(
        inherited.is_empty(),
        "with five clients connected, a program that the server starts would inherit: {}",
        inherited.join(", ")
    );
    Ok(())
}
