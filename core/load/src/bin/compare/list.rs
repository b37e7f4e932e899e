//! The figures: each a named case with what it is to reach. A new one is a new entry in [`ROWS`].

use crate::load::{Load, Request};
use crate::rows::{Goal, Role, Row, Side};

const fn steady(connections: u64, depth: u64, idle: u64) -> Load {
    Load::Steady { connections, depth, idle }
}

/// As many connections and as long values as redis-benchmark has by itself.
const fn redis(name: &'static str, what: &'static str, request: Request, depth: u64, bound: f64) -> Row {
    let load = Load::Resp { connections: 50, depth, request };
    Row::pair((Role::Resp, Role::Redis), name, what, load, Goal::RatioAtMost(bound))
}

const fn framing(name: &'static str, what: &'static str, line_bytes: usize) -> Row {
    let subject = Side { role: Role::Core, load: Load::Framing { line_bytes } };
    Row { name, what, subject, reference: None, goal: Goal::AtLeast(0.8) }
}

/// A thread a connection is another trade: simple and for any system. What it costs is shown, and is to reach nothing.
const fn threads(name: &'static str, what: &'static str, load: Load) -> Row {
    Row::pair((Role::Threads, Role::Yardstick), name, what, load, Goal::Ratio)
}

/// Everything that can be compared.
pub const ROWS: &[Row] = &[
    framing("core-32", "framing and numbered echo, 32-byte lines", 32),
    framing("core-1000", "framing and numbered echo, 1,000-byte lines", 1000),
    Row::against(
        Role::Yardstick,
        "64x1",
        "64 connections, one line in flight",
        steady(64, 1, 0),
        Goal::RatioAtMost(1.03),
    ),
    Row::against(
        Role::Yardstick,
        "64x1-idle-10000",
        "64 connections, one in flight, 10,000 idle beside",
        steady(64, 1, 10_000),
        Goal::RatioAtMost(1.03),
    ),
    Row {
        name: "idle-cost",
        what: "64 × 1 with 10,000 idle beside, against 64 × 1 without",
        subject: Side { role: Role::Subject, load: steady(64, 1, 10_000) },
        reference: Some(Side { role: Role::Subject, load: steady(64, 1, 0) }),
        goal: Goal::RatioAtMost(1.03),
    },
    Row::against(
        Role::Yardstick,
        "1000x1",
        "1,000 connections, one in flight",
        steady(1000, 1, 0),
        Goal::RatioAtMost(1.05),
    ),
    Row::against(
        Role::Yardstick,
        "64x16",
        "64 connections, 16 in flight",
        steady(64, 16, 0),
        Goal::RatioAtMost(1.08),
    ),
    Row::against(
        Role::Yardstick,
        "64x64",
        "64 connections, 64 in flight",
        steady(64, 64, 0),
        Goal::RatioAtMost(1.20),
    ),
    Row::against(
        Role::Tokio,
        "tokio-64x1",
        "64 connections, one in flight",
        steady(64, 1, 0),
        Goal::RatioAtMost(0.95),
    ),
    Row::against(
        Role::Tokio,
        "tokio-64x16",
        "64 connections, 16 in flight",
        steady(64, 16, 0),
        Goal::RatioAtMost(0.70),
    ),
    Row::against(
        Role::Tokio,
        "tokio-64x64",
        "64 connections, 64 in flight",
        steady(64, 64, 0),
        Goal::RatioAtMost(0.50),
    ),
    redis("redis-ping-1", "PING, 50 connections, one in flight", Request::Ping, 1, 0.92),
    redis("redis-get-1", "GET, 50 connections, one in flight", Request::Get, 1, 0.92),
    redis("redis-ping-16", "PING, 50 connections, 16 in flight", Request::Ping, 16, 0.60),
    redis("redis-get-16", "GET, 50 connections, 16 in flight", Request::Get, 16, 0.60),
    Row::alone(
        "calls-reply",
        "64 connections in step, one in flight",
        Load::CallsAReply { connections: 64 },
        Goal::AtMost(2.1),
    ),
    // An echo knows no `quit`, so there the client ends; what the numbered echo makes more is `bye` and its shutdown.
    Row::against(
        Role::Yardstick,
        "calls-connection",
        "accept, greeting, one line, quit, close",
        Load::CallsAConnection,
        Goal::Ratio,
    ),
    Row::alone(
        "memory-10000",
        "10,000 idle connections",
        Load::Memory { connections: 10_000 },
        Goal::AtMost(192.0),
    ),
    Row::alone(
        "memory-19000",
        "19,000 idle connections",
        Load::Memory { connections: 19_000 },
        Goal::AtMost(192.0),
    ),
    Row {
        name: "guest-1000000",
        what: "1,000,000 connections held by one thread, each answered",
        subject: Side { role: Role::Guest, load: Load::Guest { connections: 1_000_000 } },
        reference: None,
        goal: Goal::AtMost(192.0),
    },
    Row::alone(
        "memory-after",
        "100,000 connections came and went, 64 at a time",
        Load::AfterChurn { connections: 100_000, concurrency: 64 },
        Goal::AtMost(1.10),
    ),
    // As many as a process may have where descriptors are limited to 20,000.
    Row::alone("held-19000", "held by one thread", Load::Held { connections: 19_000 }, Goal::AtLeast(19_000.0)),
    Row::against(
        Role::Yardstick,
        "accept-rate",
        "short connections: greeting, one line, end",
        Load::Churn { connections: 20_000, concurrency: 64, cpu: false },
        Goal::RatioAtLeast(0.9),
    ),
    // The load generator limits the rate as long as a client's connect costs more than a server's accept; this is
    // the same goal where the server would be the limit: 1 / 0.9.
    Row::against(
        Role::Yardstick,
        "accept-cpu",
        "short connections: greeting, one line, end",
        Load::Churn { connections: 20_000, concurrency: 64, cpu: true },
        Goal::RatioAtMost(1.11),
    ),
    Row::alone(
        "quiet-beside-3",
        "a quiet client beside three flooders",
        Load::Quiet { flooders: 3 },
        Goal::AtMost(10.0),
    ),
    threads("threads-64x1", "64 connections, one in flight", steady(64, 1, 0)),
    threads("threads-64x16", "64 connections, 16 in flight", steady(64, 16, 0)),
    threads("threads-64x64", "64 connections, 64 in flight", steady(64, 64, 0)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_ratios_have_a_reference() {
        for (index, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..index].iter().all(|other| other.name != row.name), "{} occurs twice", row.name);
            assert_eq!(row.reference.is_some(), row.goal.is_ratio(), "{}", row.name);
            if let Some(reference) = row.reference {
                assert_eq!(row.subject.load.unit(), reference.load.unit(), "{}", row.name);
            }
        }
    }

    #[test]
    fn a_smoke_run_asks_for_the_same_figures() {
        for row in ROWS {
            let quick = row.quick();
            assert_eq!(quick.subject.load.unit(), row.subject.load.unit(), "{}", row.name);
            assert_eq!(quick.reference.is_some(), row.reference.is_some(), "{}", row.name);
        }
        let held = ROWS.iter().find(|row| row.name == "held-19000").unwrap();
        assert_eq!(held.quick().subject.load, Load::Held { connections: 950 });
    }
}
