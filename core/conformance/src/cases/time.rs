//! Time: limits fire when they are due, never early, and not for who was in time.

use std::time::{Duration, Instant};

use super::watch::{answers, works};
use crate::process::need_descriptors;
use crate::{Case, Client, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "time::silence_ends_at_the_limit",
        rule: "rule 8: the idle limit fires within [limit, limit + 250 ms], never early",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: silence_ends_at_the_limit,
    },
    Case {
        name: "time::many_expiries_come_one_by_one",
        rule: "rule 8: the idle limit fires within [limit, limit + 250 ms], never early; rule 7: no wake-up without progress",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: many_expiries_come_one_by_one,
    },
    Case {
        name: "time::activity_moves_the_deadline",
        rule: "rule 8: the idle limit counts from the last byte that moved",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: activity_moves_the_deadline,
    },
    Case {
        name: "time::no_limit_is_no_limit",
        rule: "rule 8: an idle limit of 0 is none",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: no_limit_is_no_limit,
    },
    Case {
        name: "time::bytes_without_a_line_end_at_the_limit",
        rule: "rule 8: a limit for a line counts from its first byte, and further bytes do not move it",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: bytes_without_a_line_end_at_the_limit,
    },
    Case {
        name: "time::the_line_limit_is_for_lines_that_have_begun",
        rule: "rule 8: the limit for a line counts from its first byte, so neither between lines nor for a line that is finished",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: the_line_limit_is_for_lines_that_have_begun,
    },
    Case {
        name: "time::what_came_in_time_is_served_after_a_stop",
        rule: "rule 8: after the process itself was stopped, what arrived in time is served",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: what_came_in_time_is_served_after_a_stop,
    },
    Case {
        name: "time::nothing_came_during_a_stop",
        rule: "rule 8: an expired connection gets one attempt to receive, and would-block lets the timeout act",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: nothing_came_during_a_stop,
    },
];

/// Beyond the limit, for a busy machine; the rule says 250 ms.
const LATE: Duration = Duration::from_secs(5);

/// What the rule says of one client, which the median of many keeps to on a busy machine too.
const LATE_MEDIAN: Duration = Duration::from_millis(250);

/// The client's end came at the limit: not before it, counted from `start`, which is before its last byte left.
fn gone_at(client: &mut Client, start: Instant, limit: Duration) -> Result<Duration, NotPassed> {
    client.expect_gone(limit + DEADLINE)?;
    let took = start.elapsed();
    if took < limit || took > limit + LATE {
        return Err(client
            .failed(&format!("a silent client was closed {took:?} after its last byte; the limit is {limit:?}")));
    }
    Ok(took - limit)
}

fn silence_ends_at_the_limit(context: &Context) -> Outcome {
    for (seconds, limit_ms) in [("0.3", 300), ("1", 1000), ("1.501", 1501)] {
        let limit = Duration::from_millis(limit_ms);
        let server = context.spawn(&["--idle-timeout", seconds])?;
        let mut clients = Vec::new();
        for (what, sent, came) in [
            ("a client that sent nothing", &b""[..], &b""[..]),
            ("a client that sent a line", b"a\n", b"1: a\n"),
            ("a client that sent half a line", b"half a li", b""),
        ] {
            let connected = Instant::now();
            let mut client = Client::greeted(server.address())?;
            let start = if sent.is_empty() { connected } else { Instant::now() };
            client.send(sent)?;
            client.expect(came)?;
            clients.push((client, start, what));
        }
        for (client, start, what) in &mut clients {
            gone_at(client, *start, limit).map_err(|error| error.within(what))?;
        }
    }
    Ok(())
}

fn many_expiries_come_one_by_one(context: &Context) -> Outcome {
    const CLIENTS: usize = 200;
    const APART: Duration = Duration::from_millis(10);
    const LIMIT: Duration = Duration::from_secs(4);
    /// A timer and, at the most, a look at what it found; and some for what was left of the connecting.
    const WAKEUPS: u64 = 2 * CLIENTS as u64 + 10;
    let server = context.spawn(&["--idle-timeout", "4"])?;
    let mut clients = Vec::new();
    let first = Instant::now();
    for n in 0..CLIENTS {
        std::thread::sleep((first + APART * n as u32).saturating_duration_since(Instant::now()));
        let start = Instant::now();
        clients.push((Client::greeted(server.address())?, start));
    }
    ensure!(
        first.elapsed() < LIMIT,
        "the suite: this machine is too busy to connect {CLIENTS} clients in {LIMIT:?}"
    );
    let before = server.usage()?;
    let mut late = Vec::new();
    for (n, (client, start)) in clients.iter_mut().enumerate() {
        let place = |error: NotPassed| error.within(format!("client {n} of {CLIENTS}, {APART:?} apart"));
        late.push(gone_at(client, *start, LIMIT).map_err(place)?);
    }
    let used = server.usage()?.since(before);
    ensure!(
        used.wakeups <= WAKEUPS,
        "{CLIENTS} connections, {APART:?} apart, reached their idle limit: the server woke {} times, at most {WAKEUPS} are right",
        used.wakeups
    );
    late.sort_unstable();
    let median = late[CLIENTS / 2];
    ensure!(
        median <= LATE_MEDIAN,
        "half of {CLIENTS} silent clients were closed more than {median:?} after their limit"
    );
    Ok(())
}

/// For a client that must do something again and again, at most `limit` apart: `attempt` keeps the longest time between two
/// in its argument. When this machine was too busy for that, nobody can tell what is right: it tries again, and gives up
/// loudly.
fn in_time(limit: Duration, attempt: impl Fn(&mut Duration) -> Outcome) -> Outcome {
    const ATTEMPTS: usize = 5;
    for _ in 0..ATTEMPTS {
        let mut longest = Duration::ZERO;
        let outcome = attempt(&mut longest);
        if longest < limit {
            return outcome;
        }
    }
    Err(NotPassed::skipped_loudly(format!("this machine is too busy to do anything every {:?}", limit / 2)))
}

fn activity_moves_the_deadline(context: &Context) -> Outcome {
    const LIMIT: Duration = Duration::from_secs(1);
    let server = context.spawn(&["--idle-timeout", "1"])?;
    in_time(LIMIT, |longest| {
        let mut client = Client::greeted(server.address())?;
        let mut last = Instant::now();
        // Half a line counts as well as a whole one.
        for piece in [&b"a\n"[..], b"b", b"\n", b"c", b"\n", b"d\n"] {
            std::thread::sleep(LIMIT / 2);
            *longest = last.elapsed().max(*longest);
            last = Instant::now();
            client.send(piece)?;
        }
        client.expect(b"1: a\n2: b\n3: c\n4: d\n")?;
        gone_at(&mut client, last, LIMIT).map(|_| ())
    })
}

fn no_limit_is_no_limit(context: &Context) -> Outcome {
    let server = context.spawn(&["--idle-timeout", "0"])?;
    let mut client = Client::greeted(server.address())?;
    client.expect_silence(Duration::from_secs(2))?;
    answers(&mut client, 1)
}

fn bytes_without_a_line_end_at_the_limit(context: &Context) -> Outcome {
    const LIMIT: Duration = Duration::from_secs(1);
    let server = context.spawn(&["--line-timeout", "1", "--idle-timeout", "30"])?;

    // One byte, and then nothing: no further event tells the server to look.
    let mut client = Client::greeted(server.address())?;
    let start = Instant::now();
    client.send(b"x")?;
    gone_at(&mut client, start, LIMIT).map_err(|error| error.within("one byte of a line, then silence"))?;

    // A byte now and then: each is progress, the line is not.
    let mut client = Client::greeted(server.address())?;
    answers(&mut client, 1)?;
    let start = Instant::now();
    client.send(b"x")?;
    while client.expect_silence(Duration::from_millis(100)).is_ok() {
        let so_far = start.elapsed();
        ensure!(
            so_far < LIMIT + LATE,
            "a byte of one line every 100 ms, for {so_far:?}; the limit for a line is {LIMIT:?}"
        );
        // The server may close before this byte comes.
        if client.send(b"x").is_err() {
            break;
        }
    }
    let took = start.elapsed();
    ensure!(
        took >= LIMIT,
        "a byte of one line every 100 ms: closed after {took:?}; the limit for a line is {LIMIT:?}"
    );
    works(server.address())
}

fn the_line_limit_is_for_lines_that_have_begun(context: &Context) -> Outcome {
    const LIMIT: Duration = Duration::from_secs(1);
    let server = context.spawn(&["--line-timeout", "1", "--idle-timeout", "30"])?;
    let mut silent = Client::greeted(server.address())?;
    in_time(LIMIT, |longest| {
        let mut client = Client::greeted(server.address())?;
        for number in 1..=5 {
            let start = Instant::now();
            client.send(b"slow ")?;
            std::thread::sleep(LIMIT / 2);
            *longest = start.elapsed().max(*longest);
            client.send(b"line\n")?;
            client.expect(format!("{number}: slow line\n").as_bytes())?;
        }
        Ok(())
    })?;
    // Two and a half seconds and more have passed, in which this one has not begun a line.
    answers(&mut silent, 1)?;
    silent.expect_silence(LIMIT + LIMIT / 2)?;
    answers(&mut silent, 2)
}

/// A stop that outlasts the idle limit of two seconds.
const STOP: Duration = Duration::from_millis(2500);

fn what_came_in_time_is_served_after_a_stop(context: &Context) -> Outcome {
    /// More than a server looks at in one turn: those that it has not seen yet have expired as well.
    const MANY: usize = 600;
    need_descriptors(MANY)?;
    let server = context.spawn(&["--idle-timeout", "2", "--backlog", "4096"])?;
    let start = Instant::now();
    let mut many = (0..MANY).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    let mut asking = Client::greeted(server.address())?;
    let mut leaving = Client::greeted(server.address())?;
    let mut ending = Client::greeted(server.address())?;
    server.freeze()?;
    let stopped = Instant::now();
    for client in &mut many {
        client.send(b"a\n")?;
    }
    asking.send(b"a\n")?;
    leaving.send(b"b\nquit\n")?;
    ending.send(b"c\nd")?;
    ending.half_close()?;
    let mut coming = Client::connect(server.address())?;
    coming.send(b"e\n")?;
    if start.elapsed() >= Duration::from_secs(2) {
        return Err(NotPassed::skipped_loudly(format!("this machine is too busy to serve {MANY} clients in 2 s")));
    }
    std::thread::sleep(STOP.saturating_sub(stopped.elapsed()));
    server.thaw()?;
    let place = |error: NotPassed| error.within(format!("sent to a stopped server, which went on {STOP:?} later"));
    asking.expect(b"1: a\n").map_err(place)?;
    leaving.expect(b"1: b\nbye\n").map_err(place)?;
    leaving.expect_end().map_err(place)?;
    ending.expect(b"1: c\n").map_err(place)?;
    ending.expect_end().map_err(place)?;
    coming.expect(b"ready\n1: e\n").map_err(place)?;
    for (n, client) in many.iter_mut().enumerate() {
        client.expect(b"1: a\n").map_err(|error| place(error).within(format!("client {n} of {MANY}")))?;
    }
    Ok(())
}

fn nothing_came_during_a_stop(context: &Context) -> Outcome {
    let server = context.spawn(&["--idle-timeout", "2"])?;
    let mut silent = Client::greeted(server.address())?;
    server.freeze()?;
    std::thread::sleep(STOP);
    server.thaw()?;
    let start = Instant::now();
    silent.expect_gone(DEADLINE)?;
    let took = start.elapsed();
    ensure!(
        took < LATE,
        "a silent client's limit passed while the server was stopped; it was closed {took:?} after that"
    );
    works(server.address())
}
