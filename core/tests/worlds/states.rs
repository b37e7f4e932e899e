//! Which changes of state the operations on a connection show, and why the others cannot be.
//!
//! A state is what a connection waits in between two calls. The one of a refused client, which has no protocol, is not
//! among them: the connection's own tests have it.

use std::collections::BTreeSet;

use crate::programs::{Operation, Run};

/// Inputs that lead through every state; the first of them are for the smallest buffers.
const INPUTS: [&[u8]; 9] = [
    b"l\nx\nq\n",
    b"b2\n12a\n",
    b"s2\n12a\n",
    b"12345678\na\n",
    b"t\nm\n",
    b"b9\n1s9\n2",
    b"b1\n1s1\n2b1\n3l\nb1\n4x\ns1\n5l\nl\nx\nx\n",
    b"1234567890123\nb1\n1s1\n1234567890123\ns1\n11234567890123\nl\n1234567890123\nx\n",
    b"x\nb1\n1l\ns1\n2x\nl\nb1\n",
];

/// The same for lines that end in CR LF.
const STRICT_INPUTS: [&[u8]; 4] = [
    b"a\nb\r\nq\r\n",
    b"m\r\na\nb",
    b"b1\r\n1\nc\r\nb1\r\n1s1\r\n2\nd\r\ns1\r\n3\n\r\nl\r\n",
    b"l\r\n\n\r\nx\r\n\n\r\n12345678901234\r\n\n\r\n\n\r\nl\r\n\n\r\nb1\r\n",
];

/// What can be done at each step.
const OPERATIONS: [Operation; 15] = [
    Operation::Receive(usize::MAX),
    Operation::Receive(1),
    Operation::Receive(3),
    Operation::Send(usize::MAX),
    Operation::Send(1),
    Operation::Lend,
    Operation::WriteShut,
    Operation::Complete,
    Operation::Reclaim,
    Operation::Push,
    Operation::Pass(11),
    Operation::End,
    Operation::Drain,
    Operation::Drained,
    Operation::Fail,
];

/// What an obedient driver does.
const ONWARDS: [Operation; 4] =
    [Operation::Receive(usize::MAX), Operation::Send(usize::MAX), Operation::Complete, Operation::Lend];

/// Operations that end things: in a walk they come late.
const LATE: usize = 4;

/// Walks of random operations behind every input, usually and when asked for more.
fn walks() -> u64 {
    if std::env::var("EVSERVER_WORLDS").is_ok_and(|size| size == "large") { 1_000_000 } else { 3_000 }
}

/// Every order of two operations behind every cut of an input whose first part is received and answered.
fn orders<const N: usize>(input: &[u8], changes: &mut BTreeSet<(String, String)>) -> u64 {
    let mut runs = 0;
    for cut in 0..input.len() {
        for one in OPERATIONS {
            for other in ONWARDS {
                for answered in [false, true] {
                    let mut run = Run::<true, N>::new(input);
                    run.step(Operation::Lend);
                    run.step(Operation::Send(usize::MAX));
                    run.step(Operation::Receive(cut));
                    if answered {
                        run.step(Operation::Send(usize::MAX));
                    }
                    run.step(one);
                    run.step(other);
                    changes.extend(run.finish());
                    runs += 1;
                }
            }
        }
    }
    runs
}

/// What leads into a state, and what leads out of it.
const WAYS: [&str; 10] = [
    "b1\r\n",
    "s1\r\n",
    "12345678901234\r\n",
    "b1\r\n1",
    "s1\r\n1",
    "a\r\nb\n\r\n",
    "l\r\n",
    "a\r\nl\r\n",
    "a\r\nx\r\n",
    "z\n",
];

/// Long walks of random operations.
fn wander<const STRICT: bool, const N: usize>(input: &[u8], changes: &mut BTreeSet<(String, String)>) -> u64 {
    for walk in 0..walks() {
        let mut number = walk;
        let mut run = Run::<STRICT, N>::new(input);
        for step in 0..24 {
            // A linear congruence is random enough to walk by: D. Knuth, MMIX.
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let choices = if step < 12 { OPERATIONS.len() - LATE } else { OPERATIONS.len() };
            run.step(OPERATIONS[(number >> 33) as usize % choices]);
        }
        changes.extend(run.finish());
    }
    walks()
}

const STATES: [&str; 14] = [
    "Open",
    "Line",
    "RestOfLine",
    "Body",
    "Skip",
    "TooLong",
    "BareNewline",
    "Later",
    "Completed",
    "Expired",
    "End",
    "Flushing",
    "Lingering",
    "Closed",
];

/// Why one state is never followed by another between two calls, for the pairs of which that is so.
fn never(from: &str, to: &str) -> Option<&'static str> {
    Some(match (from, to) {
        ("Closed", _) => "nothing comes after the end",
        ("Lingering", to) if to != "Closed" => "our side is shut: nothing is answered any more",
        ("Flushing", to) if !matches!(to, "Lingering" | "Closed") => "what is not answered yet was dropped",
        (_, "Lingering") if from != "Flushing" => "the last reply leaves first",
        (_, "Open") => "the greeting comes once, and first",
        (
            "Open",
            "RestOfLine" | "Body" | "Skip" | "TooLong" | "BareNewline" | "Later" | "Completed" | "Expired",
        ) => "nothing was received before the greeting, which announces nothing here",
        ("End", to) if !matches!(to, "Flushing" | "Closed") => "nothing comes behind the peer's end",
        (_, "Completed" | "Expired") if from != "Later" => "no answer was asked for",
        (_, "TooLong") if from != "Line" => "what stands behind other bytes does not fill the buffer",
        ("TooLong", "Line" | "Body" | "Skip" | "BareNewline" | "Later") => {
            "a full buffer without a line's end holds nothing that could come behind the line"
        }
        ("Body" | "Later" | "Completed" | "Expired", "RestOfLine") => {
            "these say something, and a refusal, which needs an empty output, waits behind it"
        }
        _ => return None,
    })
}

#[test]
fn every_change_of_state_is_seen_or_explained() {
    let (mut changes, mut runs) = (BTreeSet::new(), 0);
    for input in INPUTS {
        runs += wander::<false, 4>(input, &mut changes) + wander::<false, 12>(input, &mut changes);
    }
    for input in STRICT_INPUTS {
        runs += wander::<true, 5>(input, &mut changes) + wander::<true, 12>(input, &mut changes);
    }
    for one in WAYS {
        for other in WAYS {
            runs += orders::<12>([one, other].concat().as_bytes(), &mut changes);
        }
    }
    println!("{runs} programs, {} changes of state", changes.len());
    for from in STATES {
        let to: Vec<_> = changes.iter().filter(|(a, _)| a == from).map(|(_, b)| b.as_str()).collect();
        println!("{from:12} → {}", to.join(" "));
    }
    for from in STATES {
        for to in STATES.into_iter().filter(|&to| to != from) {
            let seen = changes.contains(&(from.to_owned(), to.to_owned()));
            assert_eq!(seen, never(from, to).is_none(), "{from} → {to}: {:?}", never(from, to));
        }
    }
}
