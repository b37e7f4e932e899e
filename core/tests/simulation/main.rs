//! A whole server over a simulated network: what runs is the core's own loop, what it runs on is decided by a seed.
//!
//! Clients of every kind, thousands of them, come to a server whose system calls fail in every way that they can:
//! interrupted, short, would-block, reset, out of descriptors, out of buffers, out of slots; the process is stopped,
//! signals come, the poller lies. Each client compares each byte with a model of the protocol, and the world
//! checks the rules for each connection: nothing early, nothing late, no byte lost, no wake-up without
//! progress, no stall.
//!
//! ```sh
//! cargo test -p evserver-core --test simulation                      # fixed seeds, and a new one, which is printed
//! EVSERVER_SEED=17 cargo test -p evserver-core --test simulation a_seed      # that run again
//! EVSERVER_RUNS=20000 cargo test --release -p evserver-core --test simulation many -- --nocapture  # a night's
//! ```

mod agent;
mod checks;
mod client_end;
mod engine;
mod expect;
mod host;
mod link;
mod poller;
mod protocol;
mod random;
mod scenario;
mod server_end;
mod tally;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use engine::{Outcome, run};
use scenario::Scenario;

/// Runs that a plain `cargo test` makes.
const RUNS: u64 = 60;

/// Bytes of floods in a run.
const TRAFFIC_BYTES: u64 = 1_000_000;

/// Runs a seed; if a rule does not hold, looks for a smaller run in which it does not hold either.
fn check(seed: u64, words: &str) -> Outcome {
    let scenario = Scenario::from_seed(seed, number("EVSERVER_TRAFFIC").unwrap_or(TRAFFIC_BYTES)).shrunk(words);
    match catch_unwind(AssertUnwindSafe(|| run(&scenario))) {
        Ok(outcome) => outcome,
        Err(_) => {
            let words = shrink(scenario, words.to_owned());
            panic!("again: EVSERVER_SEED={seed} EVSERVER_SHRUNK={words}");
        }
    }
}

/// Leaves away what can be left away so that it still fails.
fn shrink(mut scenario: Scenario, mut words: String) -> String {
    while let Some((word, smaller)) =
        scenario.smaller().into_iter().find(|(_, smaller)| catch_unwind(AssertUnwindSafe(|| run(smaller))).is_err())
    {
        words = format!("{words}{}{word}", if words.is_empty() { "" } else { "," });
        scenario = smaller;
    }
    words
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

#[test]
fn a_seed() {
    let new = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
    let seed = number("EVSERVER_SEED").unwrap_or(new);
    println!("EVSERVER_SEED={seed}");
    let outcome = check(seed, &std::env::var("EVSERVER_SHRUNK").unwrap_or_default());
    println!("{} turns, {} events, {} served", outcome.turns, outcome.events, outcome.served);
}

/// Rule 9: what a quiet client may wait for, beside three that flood, in 99 cases of 100.
const QUIET_US: u64 = 10_000;

#[test]
fn a_quiet_client_beside_floods_is_answered_soon() {
    for edge_triggered in [false, true] {
        let outcome = run(&Scenario::with_floods(9, 128, 3, edge_triggered));
        let waits = &outcome.latencies_us;
        let (median, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
        println!(
            "{} replies to quiet clients: median {median} µs, p99 {p99} µs, most {:?} µs",
            waits.len(),
            waits.last()
        );
        assert!(waits.len() > 1_000, "too few for a p99: {}", waits.len());
        assert!(p99 < QUIET_US, "p99 {p99} µs");
    }
}

#[test]
fn a_seed_decides_everything() {
    for seed in [1, 2, 3] {
        let [one, two] = [(), ()].map(|()| check(seed, ""));
        assert_eq!((one.turns, one.events, one.latencies_us), (two.turns, two.events, two.latencies_us));
    }
}

/// What has to have happened in the runs of a plain test, or they would show nothing of it.
const SEEN: [&str; 24] = [
    "aborted client",
    "answer",
    "closed by the peer",
    "closed by the protocol",
    "closed untold",
    "drain timeout",
    "drained",
    "expired ticket",
    "failed",
    "failed watch",
    "idle timeout",
    "late answer",
    "lie",
    "line timeout",
    "long turn",
    "no buffers",
    "out of descriptors",
    "panic",
    "push",
    "refused client",
    "refused push",
    "reset by a close",
    "stop in a turn",
    "table full",
];

/// Connections that one run at least serves.
const MANY: u64 = 2_000;

#[test]
fn many_seeds() {
    let runs = number("EVSERVER_RUNS").unwrap_or(RUNS);
    let began = Instant::now();
    let (mut turns, mut events, mut served, mut simulated_ms) = (0, 0, 0, 0);
    let mut largest = 0;
    let mut seen = BTreeMap::new();
    for seed in 0..runs {
        let outcome = check(seed, "");
        turns += outcome.turns;
        events += outcome.events;
        served += outcome.served;
        largest = largest.max(outcome.served);
        simulated_ms += outcome.simulated_ms;
        for (what, times) in outcome.seen {
            *seen.entry(what).or_insert(0) += times;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{runs} runs: {served} connections, at most {largest} in one; {events} events (transfers, ends, accepts) in {turns} turns, \
         {:.1} simulated hours; {seconds:.1} s, {:.0} events a second",
        simulated_ms as f64 / 3_600_000.0,
        events as f64 / seconds
    );
    for (what, times) in &seen {
        println!("{times:9} × {what}");
    }
    if runs >= RUNS {
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), SEEN);
        assert!(largest >= MANY, "no run with thousands of connections: {largest}");
    }
}
