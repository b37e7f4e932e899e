//! Watching a process, and the cases that do: they pass and fail where they should.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::{Duration, Instant};

use evserver_conformance::process::{Launch, Server, Signal};
use evserver_conformance::{Client, Command, DEADLINE, NotPassed, Suite, Summary, Target};

const SERVER: &str = env!("CARGO_BIN_EXE_faulty-server");

fn launch() -> Launch {
    Launch::new(Command::spawn(SERVER, &["--loop", "events"]).with(&[]))
}

fn start(launch: Result<Launch, NotPassed>) -> Server {
    launch.and_then(Launch::start).unwrap_or_else(|error| panic!("{error:?}"))
}

fn text(error: NotPassed) -> String {
    match error {
        NotPassed::Failed(text) => text,
        NotPassed::Skipped { why, .. } => panic!("skipped: {why}"),
    }
}

#[test]
fn a_frozen_server_does_nothing_until_it_goes_on() {
    let server = start(Ok(launch()));
    let first = Client::greeted(server.address()).unwrap();
    server.freeze().unwrap();
    let before = server.usage().unwrap();
    let mut client = Client::connect(server.address()).unwrap();
    client.expect_silence(Duration::from_millis(100)).unwrap();
    assert_eq!(server.usage().unwrap().descriptors, before.descriptors);
    server.thaw().unwrap();
    client.expect(b"ready\n").unwrap();
    assert_eq!(server.usage().unwrap().descriptors, before.descriptors + 1);
    // It counts when the server goes to sleep again, which may be a moment after the client has its greeting.
    let deadline = Instant::now() + DEADLINE;
    while server.usage().unwrap().since(before).wakeups == 0 {
        assert!(Instant::now() < deadline, "the server woke to greet a client, and no wake-up was counted");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(first);
}

#[test]
fn the_end_of_a_server_is_seen() {
    let mut server = start(Ok(launch()));
    assert_eq!(server.listening_ports().unwrap(), [server.address().port()]);
    assert!(text(server.wait_exit(Duration::ZERO).unwrap_err()).contains("still running"));
    server.ensure_alive().unwrap();
    server.signal(Signal::Terminate).unwrap();
    let status = server.wait_exit(DEADLINE).unwrap();
    assert_eq!(status.code(), None, "it has no handler, so the signal is its end: {status}");
    assert!(text(server.ensure_alive().unwrap_err()).contains("signal: 15"));
    assert!(server.errors().text().is_empty());
}

#[test]
fn a_command_that_does_not_serve_says_why() {
    let ends = Launch::new(["sh", "-c", "echo so much >&2; exit 3"].map(String::from).into()).start();
    assert!(text(ends.err().unwrap()).contains("so much"));
    let missing = Launch::new(vec!["/no/such/program".to_string()]).start();
    assert!(text(missing.err().unwrap()).contains("/no/such/program"));
    let finished = Launch::new(["sh", "-c", "echo out; echo err >&2; exit 3"].map(String::from).into())
        .finish(DEADLINE)
        .unwrap();
    assert_eq!((finished.status.code(), &*finished.output, &*finished.errors), (Some(3), "out\n", "err\n"));
}

#[test]
fn what_stands_around_a_command_is_in_force() {
    let limited = start(launch().under(&["prlimit", "--nofile=20:20", "--"]));
    let limits = fs::read_to_string(format!("/proc/{}/limits", limited.pid())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().take(2).collect::<Vec<_>>(), ["20", "20"]);

    let ignoring = start(launch().under(&["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]));
    ignoring.signal(Signal::Hangup).unwrap();
    Client::greeted(ignoring.address()).unwrap();

    let closed = start(Ok(launch().output_closed()));
    Client::connect(closed.address()).unwrap();
}

#[test]
fn system_calls_are_seen_and_made_to_fail() {
    let traced = match launch().inject(&["accept", "accept4"], "error=ECONNABORTED:when=1") {
        // Said loudly by each case that needs strace; here there is nothing to show without it.
        Err(NotPassed::Skipped { why, .. }) => return eprintln!("not tried: {why}"),
        traced => start(traced),
    };
    let trace = traced.trace().unwrap();
    let mark = trace.mark().unwrap();
    Client::greeted(traced.address()).unwrap();
    assert_eq!(trace.injected().unwrap(), 1);
    trace.mark().unwrap();
    let calls = trace.calls_since(mark).unwrap();
    let accepts = calls.iter().filter(|call| call.name.starts_with("accept")).count();
    assert!(accepts >= 2, "{calls:?}");
    // A tracer's own stops are not taken for the one that was asked for.
    traced.freeze().unwrap();
    let mut client = Client::connect(traced.address()).unwrap();
    client.expect_silence(Duration::from_millis(100)).unwrap();
    traced.thaw().unwrap();
    client.expect(b"ready\n").unwrap();
}

fn run(fault: &str, cases: &[&str]) -> Summary {
    let command = Command::spawn(SERVER, &["--loop", "events", "--fault", fault]);
    let suite = Suite::new(Target::Command(command)).only(cases.iter().copied());
    suite.run().unwrap_or_else(|mistake| panic!("{mistake}"))
}

#[test]
fn a_loop_of_a_few_lines_passes_where_no_more_is_asked() {
    let cases = [
        "accept::the_port_is_free_at_once",
        "accept::nothing_is_inherited",
        "looping::a_flood_starves_nobody",
        "looping::stopping_and_continuing_loses_nothing",
        "looping::idle_connections_wake_nobody",
        "looping::an_expiry_is_no_spin",
        "waiting::blocked_connections_wake_nobody",
        "waiting::lingering_connections_wake_nobody",
        "time::silence_ends_at_the_limit",
        "time::activity_moves_the_deadline",
        "time::nothing_came_during_a_stop",
        "signals::pipe_kills_nothing",
    ];
    let summary = run("none", &cases);
    assert!(summary.failed.is_empty(), "{summary}: {:?}", summary.failed);
    assert!(summary.passed.len() >= cases.len() - 2, "{summary}");
}

/// Such a loop has no signals, no limits, no report and no words for its user: all of that is missed.
#[test]
fn what_a_loop_of_a_few_lines_lacks_is_found() {
    let cases = [
        "limits::refused_clients_that_stay_cost_nothing",
        "signals::each_of_three_ends_the_program",
        "signals::right_after_the_start",
        "signals::user1_says_a_line",
        "signals::a_storm_of_user1_changes_nothing",
        "draining::the_queue_is_served",
        "startup::the_report_counts",
        "startup::nobody_needs_to_read_the_output",
        "arguments::help_and_version_are_given",
        "arguments::wrong_ones_are_refused",
        "arguments::a_taken_port_is_said",
    ];
    let mut failed = run("none", &cases).failed;
    failed.sort_unstable();
    let mut expected = cases;
    expected.sort_unstable();
    assert_eq!(failed, expected);
}

#[test]
fn faults_of_a_loop_are_found_from_its_process() {
    for (fault, case) in [
        ("spins-while-blocked", "waiting::blocked_connections_wake_nobody"),
        ("fires-early", "time::silence_ends_at_the_limit"),
        ("scans-clock-late", "time::many_expiries_come_one_by_one"),
    ] {
        assert_eq!(run(fault, &[case]).failed, [case], "{fault}");
    }
}
