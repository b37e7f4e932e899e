//! What a reply and a connection cost in system calls.

use std::collections::BTreeMap;
use std::time::Duration;

use super::watch::{answers, works};
use crate::process::Call;
use crate::{Case, Client, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "cost::system_calls_a_reply",
        rule: "64 clients in step: a receive, a send and a share of a wait for each reply",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: system_calls_a_reply,
    },
    Case {
        name: "cost::interest_is_told_once",
        rule: "rule 6: no system call for an interest that did not change: one to register, one to remove",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: interest_is_told_once,
    },
    Case {
        name: "cost::time_is_not_set_at_each_byte",
        rule: "rule 8: at most one timer is armed a loop, and not again at each byte",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: time_is_not_set_at_each_byte,
    },
    Case {
        name: "cost::a_deadline_is_not_polled_for",
        rule: "rule 8: whole milliseconds round up; rule 7: no wake-up without progress",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: a_deadline_is_not_polled_for,
    },
];

/// How often each system call was made, for a failure's text.
fn by_name(calls: &[Call]) -> String {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.name.as_str()).or_insert(0) += 1;
    }
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// A machine that is busy shows the server its clients one by one, and each takes a wait of its own, which says nothing
/// about the server: the best of a few measurements counts.
fn system_calls_a_reply(context: &Context) -> Outcome {
    const CLIENTS: usize = 64;
    const ROUNDS: u64 = 20;
    const MEASUREMENTS: u64 = 10;
    let limit = context.traits().calls_a_reply;
    let server = context.launch(&[])?.traced(&[])?.start()?;
    let mut clients = (0..CLIENTS).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    let trace = server.trace()?;
    let mut found = Vec::new();
    for measurement in 0..MEASUREMENTS {
        let mark = trace.mark()?;
        for round in 1..=ROUNDS {
            for client in &mut clients {
                client.send(b"abc\n")?;
            }
            for client in &mut clients {
                client.expect(format!("{}: abc\n", measurement * ROUNDS + round).as_bytes())?;
            }
        }
        // The last wait, in which the server sleeps now, belongs to it.
        trace.mark()?;
        let calls = trace.calls_since(mark)?;
        let a_reply = calls.len() as f64 / (CLIENTS as f64 * ROUNDS as f64);
        if a_reply <= limit {
            return Ok(());
        }
        found.push(format!("{a_reply:.3} ({})", by_name(&calls)));
    }
    Err(NotPassed::failed(format!(
        "{CLIENTS} clients in step, a line each, {ROUNDS} rounds: system calls a reply, where at most {limit} are right: {}",
        found.join("; ")
    )))
}

fn interest_is_told_once(context: &Context) -> Outcome {
    const CLIENTS: usize = 20;
    let limit = CLIENTS * context.traits().poller_calls_a_connection;
    let server = context.launch(&[])?.traced(&["-e", "trace=?epoll_ctl"])?.start()?;
    let trace = server.trace()?;
    let mark = trace.mark()?;
    for _ in 0..CLIENTS {
        let mut client = Client::greeted(server.address())?;
        for number in 1..=20 {
            answers(&mut client, number)?;
        }
        client.send(b"quit\n")?;
        client.expect(b"bye\n")?;
        client.expect_end()?;
    }
    trace.mark()?;
    let calls = trace.calls_since(mark)?;
    ensure!(
        calls.len() <= limit,
        "{CLIENTS} clients, each with 20 lines, one at a time, and \"quit\": {} calls of epoll_ctl, at most {limit} are right",
        calls.len()
    );
    Ok(())
}

fn time_is_not_set_at_each_byte(context: &Context) -> Outcome {
    const LINES: u64 = 500;
    /// The nearest deadline may move at first, and each second or so that the case takes.
    const LIMIT: usize = 20;
    let server = context.launch(&["--idle-timeout", "30"])?.traced(&["-e", "trace=?timerfd_settime"])?.start()?;
    let mut other = Client::greeted(server.address())?;
    let mut client = Client::greeted(server.address())?;
    let trace = server.trace()?;
    let mark = trace.mark()?;
    for number in 1..=LINES {
        answers(&mut client, number)?;
    }
    trace.mark()?;
    let calls = trace.calls_since(mark)?;
    ensure!(
        calls.len() <= LIMIT,
        "one client sent {LINES} lines, one at a time: {} calls of timerfd_settime, at most {LIMIT} are right",
        calls.len()
    );
    answers(&mut other, 1)?;
    other.expect_silence(Duration::from_millis(1))?;
    works(server.address())
}

fn a_deadline_is_not_polled_for(context: &Context) -> Outcome {
    /// The wait, the timer, one attempt to receive, what closing takes, and the next wait; a look too early costs one more.
    const LIMIT: usize = 15;
    let server = context.launch(&["--idle-timeout", "0.5"])?.traced(&[])?.start()?;
    let trace = server.trace()?;
    let mut client = Client::greeted(server.address())?;
    let mark = trace.mark()?;
    client.expect_gone(DEADLINE)?;
    trace.mark()?;
    let calls = trace.calls_since(mark)?;
    ensure!(
        calls.len() <= LIMIT,
        "a silent client's idle limit passed: the server made {} system calls in the last part of it, at most {LIMIT} are right: {}",
        calls.len(),
        by_name(&calls)
    );
    Ok(())
}
