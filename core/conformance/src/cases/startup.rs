//! From the start to the report: where it listens, what it says, and when nobody can hear it.

use std::net::{Ipv6Addr, SocketAddr, TcpListener};

use super::watch::{answers, at_rest, descriptors_are_back, ends_with_report, refuses, works};
use crate::process::{Launch, Server, Signal};
use crate::{Case, Client, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

const fn case(name: &'static str, rule: &'static str, run: fn(&Context) -> Outcome) -> Case {
    Case { name, rule, needs: Needs::Spawn, pace: Pace::Together, run }
}

pub(crate) const CASES: &[Case] = &[
    case(
        "startup::the_real_address_is_said",
        "one line \"listening on ADDRESS:PORT\" for each listener, with the port that the system chose",
        the_real_address_is_said,
    ),
    case("startup::two_listeners_serve", "--listen may be given several times", two_listeners_serve),
    case(
        "startup::the_report_counts",
        "rule 13: \"served N connections, peak concurrent M\" on standard output, first line of the report",
        the_report_counts,
    ),
    case(
        "startup::nobody_needs_to_read_the_output",
        "rule 15: a closed or full standard output or error neither kills nor blocks; none ever lands in a client's socket",
        nobody_needs_to_read_the_output,
    ),
    case(
        "startup::the_default_is_both_families",
        "rule 14: default [::]:PORT, dual-stack",
        the_default_is_both_families,
    ),
    case(
        "startup::without_ipv6_ipv4_serves",
        "rule 14: IPv4 alone where there is no IPv6",
        without_ipv6_ipv4_serves,
    ),
];

fn the_real_address_is_said(context: &Context) -> Outcome {
    let have_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    for (given, ipv6) in [
        ("127.0.0.1:0", false),
        ("0.0.0.0:0", false),
        ("localhost:0", false),
        ("[::1]:0", true),
        ("[::]:0", true),
        (":0", true),
    ] {
        if ipv6 && !have_ipv6 {
            continue;
        }
        let place = |error: NotPassed| error.within(format!("--listen {given}"));
        let server = context.spawn(&["--listen", given]).map_err(place)?;
        let ports = server.listening_ports()?;
        for line in server.output().lines() {
            let said: Option<SocketAddr> = line.strip_prefix("listening on ").and_then(|said| said.parse().ok());
            let right = said.is_some_and(|said| ports.contains(&said.port()));
            ensure!(right, "--listen {given}: it says {line:?}, and listens on the ports {ports:?}");
        }
        works(server.address()).map_err(place)?;
    }
    Ok(())
}

fn two_listeners_serve(context: &Context) -> Outcome {
    let mut server = context.spawn(&["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"])?;
    let addresses = server.output().wait_for("two lines \"listening on ADDRESS\"", DEADLINE, |lines| {
        let said = lines.iter().filter_map(|line| line.strip_prefix("listening on ")?.parse().ok());
        let said: Vec<SocketAddr> = said.collect();
        (said.len() == 2).then_some(said)
    })?;
    ensure!(addresses[0] != addresses[1], "two listeners are said to be at {addresses:?}");
    let mut first = Client::greeted(addresses[0])?;
    let mut second = Client::greeted(addresses[1])?;
    answers(&mut second, 1)?;
    answers(&mut first, 1)?;
    answers(&mut second, 2)?;
    server.signal(Signal::Terminate)?;
    first.expect_end()?;
    second.expect_end()?;
    drop((first, second));
    let (served, peak) = ends_with_report(&mut server, DEADLINE)?;
    ensure!((served, peak) == (2, 2), "one client at each of two listeners; the report says {served} and {peak}");
    for address in addresses {
        ensure!(refuses(address)?, "the program has ended, and {address} still takes connections");
    }
    Ok(())
}

fn the_report_counts(context: &Context) -> Outcome {
    let mut server = context.spawn(&[])?;
    server.signal(Signal::Terminate)?;
    let none = ends_with_report(&mut server, DEADLINE)?;
    ensure!(none == (0, 0), "nobody came; the report says {} and {}", none.0, none.1);

    let mut server = context.spawn(&[])?;
    let before = at_rest(&server)?;
    let three = (0..3).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    drop(three);
    for _ in 0..2 {
        // Those before must have been noticed as gone, or they are rightly counted as still there.
        descriptors_are_back(&server, before)?;
        works(server.address())?;
    }
    descriptors_are_back(&server, before)?;
    server.signal(Signal::Terminate)?;
    let (served, peak) = ends_with_report(&mut server, DEADLINE)?;
    ensure!(
        (served, peak) == (5, 3),
        "three clients came at a time and two more one by one; the report says {served} and {peak}"
    );
    Ok(())
}

fn nobody_needs_to_read_the_output(context: &Context) -> Outcome {
    let launch = || context.launch(&["--max-connections", "2"]);
    let ways = [
        ("standard output closed", launch()?.output_closed()),
        ("standard output a full pipe", launch()?.output_full()),
        ("standard output a pipe without a reader", launch()?.output_broken()),
        ("standard error closed", launch()?.errors_closed()),
        ("standard error a full pipe", launch()?.errors_full()),
        ("standard error a pipe without a reader", launch()?.errors_broken()),
        ("standard output and error closed", launch()?.output_closed().errors_closed()),
        ("standard output and error full pipes", launch()?.output_full().errors_full()),
        ("standard output and error pipes without readers", launch()?.output_broken().errors_broken()),
    ];
    for (way, launch) in ways {
        unheard(launch).map_err(|error| error.within(way))?;
    }
    Ok(())
}

/// Everything that makes the program say something, and clients who must see nothing of it.
fn unheard(launch: Launch) -> Outcome {
    let mut server = launch.start()?;
    let mut clients = [Client::greeted(server.address())?, Client::greeted(server.address())?];
    for number in 1..=3 {
        server.signal(Signal::User1)?;
        for client in &mut clients {
            answers(client, number)?;
        }
    }
    server.ensure_alive()?;
    let [first, mut second] = clients;
    first.reset()?;
    answers(&mut second, 4)?;
    server.signal(Signal::User1)?;
    server.signal(Signal::Terminate)?;
    second.expect_end()?;
    drop(second);
    exits_with_0(&mut server)
}

fn exits_with_0(server: &mut Server) -> Outcome {
    let status = server.wait_exit(DEADLINE)?;
    ensure!(status.code() == Some(0), "expected exit code 0 after SIGTERM, came {status}");
    Ok(())
}

/// Started as a user does, with a port only: 0, for one that is free.
fn with_a_port(context: &Context) -> Result<Launch, NotPassed> {
    context.launch(&[])?.with_port(0)
}

fn the_default_is_both_families(context: &Context) -> Outcome {
    let server = with_a_port(context)?.start()?;
    let port = server.address().port();
    works(SocketAddr::from(([127, 0, 0, 1], port)))?;
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return Err(NotPassed::skipped_loudly("this machine has no IPv6: only IPv4 clients were tried"));
    }
    works(SocketAddr::from((Ipv6Addr::LOCALHOST, port)))?;
    let lines = server.output().lines();
    let right = lines.iter().any(|line| *line == format!("listening on [::]:{port}"));
    ensure!(right, "expected the line \"listening on [::]:{port}\", came {lines:?}");
    Ok(())
}

fn without_ipv6_ipv4_serves(context: &Context) -> Outcome {
    // A kernel without IPv6 knows no such family of sockets: the first socket that is asked for is the listener's.
    let launch = with_a_port(context)?.inject(&["socket"], "error=EAFNOSUPPORT:when=1")?;
    let server = launch.start()?;
    let lines = server.output().lines();
    let port = server.address().port();
    ensure!(
        lines.contains(&format!("listening on 0.0.0.0:{port}")),
        "without IPv6 expected the line \"listening on 0.0.0.0:PORT\", came {lines:?}"
    );
    works(server.address())
}
