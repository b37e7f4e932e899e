//! Instructions of the server for a reply, counted by callgrind: what a busy machine does not change.

use std::fs;
use std::time::Duration;

use evserver_load::steady;

use crate::common::{run, small};
use crate::evserver::{has, start};

/// One line in flight: a wait, a receive, a send, and what is around them. Measured: 1395, and 8% for another compiler.
const INSTRUCTIONS_DEPTH_1: f64 = 1510.0;

/// 64 in flight, which come in one piece: the line itself, mostly. Measured: 197, and 8%.
const INSTRUCTIONS_DEPTH_64: f64 = 213.0;

/// Lines in the shorter run; the longer one has twice as many.
const ROUNDS: u64 = 2000;

#[test]
fn a_reply_takes_few_instructions() {
    if !has("valgrind") {
        return;
    }
    for (depth, most) in [(1, INSTRUCTIONS_DEPTH_1), (64, INSTRUCTIONS_DEPTH_64)] {
        let (few, replies_few) = whole_life(depth, ROUNDS * depth);
        let (many, replies_many) = whole_life(depth, 2 * ROUNDS * depth);
        let each = (many - few) as f64 / (replies_many - replies_few) as f64;
        println!("{each:.1} instructions a reply with {depth} in flight");
        assert!(each <= most, "{each:.1} instructions a reply with {depth} in flight, at most {most} are right");
    }
}

/// Instructions from the server's start to its end, and the replies that it gave. One connection: how many others
/// share a wait would be chance.
fn whole_life(depth: u64, replies: u64) -> (u64, u64) {
    let out = std::env::temp_dir().join(format!("evserver-counts-{}.callgrind", std::process::id()));
    let file = format!("--callgrind-out-file={}", out.display());
    let server = start(&["valgrind", "--quiet", "--tool=callgrind", &file], &[]);
    let plan = steady::Plan {
        replies: Some(replies),
        time: Duration::from_secs(600),
        warm_up: Duration::ZERO,
        ..small(1, depth)
    };
    let report = run(&server.target, &plan);
    server.stop().unwrap();
    let text = fs::read_to_string(&out).unwrap();
    fs::remove_file(&out).unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("summary: ")).expect("a summary");
    (total.trim().parse().unwrap(), report.replies_whole_run)
}
