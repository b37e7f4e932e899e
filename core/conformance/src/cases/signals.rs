//! Signals, one by one: which end the program, which do not, and what is inherited.

use std::time::Duration;

use super::watch::{answers, ends_with_report, refuses, wait_until, works};
use crate::process::{Launch, Server, Signal};
use crate::{Case, Client, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

const fn case(name: &'static str, rule: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, rule, needs: Needs::Spawn, pace: Pace::Together, run }
}

pub(crate) const CASES: &[Case] = &[
    case(
        "signals::each_of_three_ends_the_program",
        "rule 12: SIGINT, SIGTERM, SIGHUP: the listeners close, connections end, then the report and exit 0",
        each_of_three_ends_the_program,
    ),
    case(
        "signals::right_after_the_start",
        "rule 12: SIGTERM is never deadly, from the moment that the program listens",
        right_after_the_start,
    ),
    case(
        "signals::as_the_first_process",
        "rule 12: SIGINT and SIGTERM end the program, also as process 1, for which no default action exists",
        as_the_first_process,
    ),
    case(
        "signals::a_second_one_ends_at_once",
        "rule 12: a second such signal ends at once, exit 1",
        a_second_one_ends_at_once,
    ),
    case(
        "signals::two_that_coalesce_do_not_hang",
        "rule 12: SIGTERM ends the program, also when two arrive as one",
        two_that_coalesce_do_not_hang,
    ),
    case(
        "signals::user1_says_a_line",
        "rule 12: SIGUSR1: a line of live counts on standard error, and nothing else changes",
        user1_says_a_line,
    ),
    case(
        "signals::a_storm_of_user1_changes_nothing",
        "rule 12: SIGUSR1: a line of live counts on standard error, and nothing else changes",
        a_storm_of_user1_changes_nothing,
    ),
    case("signals::pipe_kills_nothing", "rule 12: SIGPIPE never kills", pipe_kills_nothing),
    case(
        "signals::ignored_ones_stay_ignored",
        "rule 12: an inherited ignore of SIGHUP or SIGINT is kept",
        ignored_ones_stay_ignored,
    ),
    case("signals::nohup_is_obeyed", "rule 12: an inherited ignore of SIGHUP is kept (nohup)", nohup_is_obeyed),
    case(
        "signals::blocked_ones_are_handled",
        "rule 12: a blocked SIGTERM is still handled",
        blocked_ones_are_handled,
    ),
];

fn each_of_three_ends_the_program(context: &Context) -> Outcome {
    for signal in [Signal::Interrupt, Signal::Terminate, Signal::Hangup] {
        let place = |error: NotPassed| error.within(format!("{signal}"));
        let mut server = context.spawn(&[])?;
        let mut client = Client::greeted(server.address())?;
        answers(&mut client, 1)?;
        server.signal(signal)?;
        client.expect_end().map_err(place)?;
        drop(client);
        let (served, peak) = ends_with_report(&mut server, DEADLINE).map_err(place)?;
        ensure!((served, peak) == (1, 1), "{signal}: one client was served; the report says {served} and {peak}");
        ensure!(
            refuses(server.address())?,
            "{signal}: the program has ended, and its port still takes connections"
        );
    }
    Ok(())
}

fn right_after_the_start(context: &Context) -> Outcome {
    for round in 0..20 {
        let mut server = context.spawn(&[])?;
        server.signal(if round % 2 == 0 { Signal::Terminate } else { Signal::Interrupt })?;
        ends_with_report(&mut server, DEADLINE).map_err(|error| error.within(format!("round {round}")))?;
    }
    Ok(())
}

fn as_the_first_process(context: &Context) -> Outcome {
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let mut server = context.launch(&[])?.as_process_1()?.start()?;
        works(server.address())?;
        let mut client = Client::greeted(server.address())?;
        server.signal(signal)?;
        client.expect_end()?;
        drop(client);
        ends_with_report(&mut server, DEADLINE)
            .map_err(|error| error.within(format!("{signal} to the first process of a PID namespace")))?;
    }
    Ok(())
}

/// A server that would drain for a minute: one client has output pending and does not read.
pub(super) fn stuck_server(context: &Context, drain_timeout: &str) -> Result<(Server, Client), NotPassed> {
    /// What the kernel's buffers may take before the client is held back.
    const KERNEL_BYTES: usize = 64 << 20;
    let server = context.spawn(&["--drain-timeout", drain_timeout])?;
    let mut client = Client::connect_small(server.address(), 4096)?;
    client.flood(b"abc\n", Duration::from_millis(200), KERNEL_BYTES)?;
    Ok((server, client))
}

fn a_second_one_ends_at_once(context: &Context) -> Outcome {
    use Signal::{Hangup, Interrupt, Terminate};
    for (first, second) in [(Terminate, Terminate), (Interrupt, Terminate), (Hangup, Interrupt)] {
        let (mut server, _stuck) = stuck_server(context, "60")?;
        server.signal(first)?;
        // The first one has been seen: two at once are one.
        wait_until("after the first signal connecting is refused", || refuses(server.address()))?;
        server.ensure_alive()?;
        server.signal(second)?;
        let status = server
            .wait_exit(DEADLINE)
            .map_err(|error| error.within(format!("{first}, and {second} while a client is stuck")))?;
        ensure!(
            status.code() == Some(1),
            "{first}, and {second} while a client is stuck: expected exit code 1, came {status}"
        );
    }
    Ok(())
}

fn two_that_coalesce_do_not_hang(context: &Context) -> Outcome {
    for (first, second) in [(Signal::Terminate, Signal::Terminate), (Signal::Terminate, Signal::Interrupt)] {
        let mut server = context.spawn(&[])?;
        let mut client = Client::greeted(server.address())?;
        server.freeze()?;
        server.signal(first)?;
        server.signal(second)?;
        server.thaw()?;
        client.expect_gone(DEADLINE)?;
        drop(client);
        let status = server.wait_exit(DEADLINE)?;
        // Two of a kind arrive as one; two kinds may be seen as a first and a second.
        ensure!(
            matches!(status.code(), Some(0 | 1)),
            "{first} and {second} at one moment: expected exit code 0 or 1, came {status}\n{}",
            server.said()
        );
    }
    Ok(())
}

fn user1_says_a_line(context: &Context) -> Outcome {
    let mut server = context.spawn(&[])?;
    let mut clients = (0..3).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    let (output, errors) = (server.output().length(), server.errors().lines().len());
    for n in 1..=10 {
        server.signal(Signal::User1)?;
        let line = server.errors().wait_for("line on standard error after SIGUSR1", DEADLINE, |lines| {
            lines.get(errors + n - 1).cloned()
        })?;
        ensure!(line.contains('3'), "with three clients connected SIGUSR1 gives {line:?}, in which no 3 is");
        for client in &mut clients {
            answers(client, n as u64)?;
        }
    }
    let said = server.errors().lines().len() - errors;
    ensure!(said == 10, "ten times SIGUSR1 gave {said} lines\n{}", server.said());
    ensure!(server.output().length() == output, "SIGUSR1 changed standard output\n{}", server.said());
    drop(clients);
    server.signal(Signal::Terminate)?;
    ends_with_report(&mut server, DEADLINE).map(|_| ())
}

fn a_storm_of_user1_changes_nothing(context: &Context) -> Outcome {
    let mut server = context.spawn(&[])?;
    let mut client = Client::greeted(server.address())?;
    for number in 1..=200 {
        server.signal(Signal::User1)?;
        answers(&mut client, number)?;
        server.signal(Signal::User1)?;
    }
    server.ensure_alive()?;
    works(server.address())
}

fn pipe_kills_nothing(context: &Context) -> Outcome {
    let mut server = context.spawn(&[])?;
    let mut client = Client::greeted(server.address())?;
    for number in 1..=3 {
        server.signal(Signal::Pipe)?;
        answers(&mut client, number)?;
    }
    server.ensure_alive()
}

/// The signals do nothing to a server that was started so; SIGTERM still ends it.
fn stays(launch: Launch, signals: &[Signal], what: &str) -> Outcome {
    let mut server = launch.start()?;
    let mut client = Client::greeted(server.address())?;
    for (n, &signal) in signals.iter().enumerate() {
        server.signal(signal)?;
        let place = |error: NotPassed| error.within(format!("{what}, then {signal}"));
        answers(&mut client, n as u64 + 1).map_err(place)?;
        works(server.address()).map_err(place)?;
        server.ensure_alive().map_err(place)?;
    }
    server.signal(Signal::Terminate)?;
    client.expect_end()?;
    drop(client);
    ends_with_report(&mut server, DEADLINE).map(|_| ()).map_err(|error| error.within(what))
}

fn ignored_ones_stay_ignored(context: &Context) -> Outcome {
    let ignoring = |signals: &str| {
        let script = format!("trap '' {signals}; exec \"$@\"");
        context.launch(&[])?.under(&["sh", "-c", &script, "sh"])
    };
    stays(ignoring("INT")?, &[Signal::Interrupt], "started with SIGINT ignored, as a script's background job is")?;
    stays(ignoring("HUP")?, &[Signal::Hangup], "started with SIGHUP ignored")?;
    stays(ignoring("INT HUP")?, &[Signal::Hangup, Signal::Interrupt], "started with SIGINT and SIGHUP ignored")
}

fn nohup_is_obeyed(context: &Context) -> Outcome {
    stays(context.launch(&[])?.under(&["nohup"])?, &[Signal::Hangup], "started with nohup")
}

fn blocked_ones_are_handled(context: &Context) -> Outcome {
    let blocking = |options: &[&str]| {
        let mut words = vec!["env"];
        words.extend(options);
        let launch = context.launch(&[])?.under(&words)?;
        let knows = std::process::Command::new("env").args(options).arg("true").output()?.status.success();
        if knows { Ok(launch) } else { Err(NotPassed::skipped_loudly("the system's env has no --block-signal")) }
    };
    for signal in [Signal::Terminate, Signal::Interrupt] {
        let mut server = blocking(&["--block-signal=TERM", "--block-signal=INT"])?.start()?;
        let mut client = Client::greeted(server.address())?;
        server.signal(signal)?;
        client.expect_end()?;
        drop(client);
        ends_with_report(&mut server, DEADLINE)
            .map_err(|error| error.within(format!("started with {signal} blocked")))?;
    }
    Ok(())
}
