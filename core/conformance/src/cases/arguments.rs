//! The command line: help, version, what is refused and how.

use crate::process::{Finished, Launch};
use crate::{Case, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

const fn case(name: &'static str, rule: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, rule, needs: Needs::Spawn, pace: Pace::Together, run }
}

pub(crate) const CASES: &[Case] = &[
    case(
        "arguments::help_and_version_are_given",
        "--help and --version answer on standard output, exit 0",
        help_and_version_are_given,
    ),
    case(
        "arguments::wrong_ones_are_refused",
        "rule 15: a wrong argument is exit 2 with usage",
        wrong_ones_are_refused,
    ),
    case(
        "arguments::a_taken_port_is_said",
        "rule 15: errors are said: one line with the address, exit 1",
        a_taken_port_is_said,
    ),
    case(
        "arguments::a_forbidden_port_is_said",
        "rule 15: errors are said: one line with the address, exit 1",
        a_forbidden_port_is_said,
    ),
    case(
        "arguments::help_needs_no_reader",
        "rule 15: a closed or full standard output neither kills nor blocks",
        help_needs_no_reader,
    ),
];

/// No panic reaches a user, whatever the mistake.
fn no_panic(finished: &Finished) -> Outcome {
    let everything = format!("{}{}", finished.output, finished.errors);
    for word in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
        ensure!(!everything.contains(word), "the program's words to its user: {everything:?}");
    }
    Ok(())
}

fn help_and_version_are_given(context: &Context) -> Outcome {
    let help = context.launch(&["--help"])?.finish(DEADLINE)?;
    ensure!(help.status.code() == Some(0), "--help: expected exit code 0, came {}", help.status);
    ensure!(help.errors.is_empty(), "--help writes on standard error: {:?}", help.errors);
    for option in
        ["--listen", "--idle-timeout", "--line-timeout", "--drain-timeout", "--max-connections", "--backlog"]
    {
        ensure!(help.output.contains(option), "--help says nothing of {option}: {:?}", help.output);
    }
    let version = context.launch(&["--version"])?.finish(DEADLINE)?;
    ensure!(version.status.code() == Some(0), "--version: expected exit code 0, came {}", version.status);
    let one_line = version.output.ends_with('\n') && version.output.lines().count() == 1;
    ensure!(
        one_line && version.output.contains(|c: char| c.is_ascii_digit()),
        "--version: expected one line with a number, came {:?}",
        version.output
    );
    Ok(())
}

fn wrong_ones_are_refused(context: &Context) -> Outcome {
    for wrong in [
        &["--no-such-option"][..],
        &["--idle-timeout", "soon"],
        &["--idle-timeout=-1"],
        &["--idle-timeout", "NaN"],
        &["--idle-timeout", "inf"],
        &["--idle-timeout", "1e300"],
        &["--idle-timeout", ""],
        &["--line-timeout=-0.5"],
        &["--drain-timeout", "x"],
        &["--max-connections", "0"],
        &["--max-connections=-1"],
        &["--max-connections", "99999999999999999999999"],
        &["--backlog", "0"],
        &["--backlog", "many"],
        &["--listen", "127.0.0.1"],
        &["--listen", "127.0.0.1:65536"],
        &["--listen", "127.0.0.1:x"],
        &["--listen", "[::1:80"],
        &["--listen", ""],
        // A port beside --listen, and two ports.
        &["--listen", "127.0.0.1:0", "8080"],
        &["--listen", "127.0.0.1:0", "0", "0"],
    ] {
        let finished = context.launch(wrong)?.finish(DEADLINE)?;
        let place = format!("{wrong:?}");
        no_panic(&finished).map_err(|error| error.within(&place))?;
        ensure!(
            finished.status.code() == Some(2),
            "{place}: expected exit code 2, came {}\n{finished:?}",
            finished.status
        );
        ensure!(
            finished.errors.to_lowercase().contains("usage"),
            "{place}: no usage on standard error: {:?}",
            finished.errors
        );
        ensure!(finished.output.is_empty(), "{place}: something on standard output: {:?}", finished.output);
    }
    Ok(())
}

/// The program cannot listen: it says so in one line, with the address and the reason, and ends with exit code 1.
fn cannot_listen(launch: Launch, address: &str, reason: &str) -> Outcome {
    let finished = launch.finish(DEADLINE)?;
    no_panic(&finished)?;
    ensure!(finished.status.code() == Some(1), "expected exit code 1, came {}\n{finished:?}", finished.status);
    let right = format!(": cannot listen on {address}: {reason}\n");
    let errors = &finished.errors;
    ensure!(
        errors.ends_with(&right) && errors.lines().count() == 1,
        "expected one line \"PROGRAM{}\" on standard error, came {errors:?}",
        right.trim_end()
    );
    ensure!(
        !finished.output.contains("listening on 127.0.0.1"),
        "the program has failed, and says on standard output {:?}",
        finished.output
    );
    Ok(())
}

fn a_taken_port_is_said(context: &Context) -> Outcome {
    const REASON: &str = "Address already in use";
    let other = std::net::TcpListener::bind("127.0.0.1:0")?;
    let taken = other.local_addr()?.to_string();
    cannot_listen(context.launch(&["--listen", &taken])?, &taken, REASON)?;
    let second = context.launch(&["--listen", "127.0.0.1:0", "--listen", &taken])?;
    cannot_listen(second, &taken, REASON).map_err(|error| error.within("the second of two addresses is taken"))?;
    // By a server of the same kind: the options that let it start again at once do not let two of them share.
    let server = context.spawn(&[])?;
    let taken = server.address().to_string();
    cannot_listen(context.launch(&["--listen", &taken])?, &taken, REASON)
        .map_err(|error| error.within("the address is taken by another server of the same kind"))
}

fn a_forbidden_port_is_said(context: &Context) -> Outcome {
    const ADDRESS: &str = "127.0.0.1:1";
    let first_free = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if !first_free.is_ok_and(|text| text.trim().parse().is_ok_and(|port: u16| port > 1)) {
        return Err(NotPassed::skipped_loudly("no port is forbidden to ordinary users here"));
    }
    let mut launch = context.launch(&["--listen", ADDRESS])?;
    if std::net::TcpListener::bind(ADDRESS).is_ok() {
        // This program may bind it, so its child must be stripped of the right to.
        let strip = ["setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service"];
        launch = launch.under(&strip)?;
        let permitted =
            std::process::Command::new(strip[0]).args(&strip[1..]).arg("true").output()?.status.success();
        if !permitted {
            return Err(NotPassed::skipped_loudly(
                "setpriv may not take the right to bind a low port from a child here",
            ));
        }
    }
    cannot_listen(launch, ADDRESS, "Permission denied")
}

fn help_needs_no_reader(context: &Context) -> Outcome {
    for option in ["--help", "--version"] {
        let launch = || context.launch(&[option]);
        let ways = [
            (launch()?.output_closed(), "closed"),
            (launch()?.output_full(), "a full pipe"),
            (launch()?.output_broken(), "a pipe that nobody reads"),
        ];
        for (launch, way) in ways {
            let place = |error: NotPassed| error.within(format!("{option} with standard output {way}"));
            let finished = launch.finish(DEADLINE).map_err(place)?;
            no_panic(&finished).map_err(place)?;
            ensure!(finished.status.code().is_some(), "{option} with standard output {way}: {}", finished.status);
        }
        let wrong = context.launch(&["--no-such-option"])?.errors_full().finish(DEADLINE)?;
        ensure!(
            wrong.status.code() == Some(2),
            "a wrong argument with standard error a full pipe: {}",
            wrong.status
        );
    }
    Ok(())
}
