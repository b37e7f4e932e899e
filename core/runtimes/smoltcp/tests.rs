//! The superloop, through its clients.

use evserver_conformance::{Manner, Random};
use evserver_core::{Buffers, IDLE_MS};
use evserver_runtimes::transcripts;

use crate::replay;
use crate::server::LIMITS;
use crate::talk::{Piece, Talk};
use crate::world::{PAIRS, SOCKETS, World};

fn in_world<R>(work: impl FnOnce(&mut World<'_>) -> R) -> R {
    let mut pairs = [const { Buffers::new() }; PAIRS];
    work(&mut World::new(&mut pairs))
}

fn talk(pieces: &[(usize, &[u8])], ends: bool, expected: &[u8]) -> Talk {
    let piece = |&(after, bytes): &(usize, &[u8])| Piece { after, bytes: bytes.to_vec() };
    let pieces = pieces.iter().map(piece).collect();
    Talk { name: "test".to_string(), pieces, ends, late_ms: 0, expected: expected.to_vec() }
}

#[test]
fn every_transcript_in_every_manner() {
    let all = transcripts().unwrap();
    in_world(|world| {
        for manner in Manner::ALL {
            let outcome = replay(world, &all, manner);
            assert_eq!(outcome.different, [""; 0]);
            assert_eq!(outcome.whole % all.len(), 0);
            assert!(outcome.whole > 0);
        }
    });
}

#[test]
fn connections_wait_for_buffers_and_lose_nothing() {
    let all = transcripts().unwrap();
    in_world(|world| {
        let longest = all.iter().find(|named| named.name == "longest-line").unwrap();
        let late = || Talk::new("", &longest.transcript(), Manner::LateReader, &mut Random::new(0));
        let outcome = world.play((0..2 * SOCKETS).map(|_| late()));
        assert_eq!(outcome.different, [""; 0]);
        assert!(world.waits() > 0, "{SOCKETS} clients with output pending had {PAIRS} pairs of buffers");
    });
}

#[test]
fn an_idle_connection_has_no_buffers() {
    in_world(|world| {
        // As many silent clients as there are pairs, beside clients that talk.
        let silent = (0..PAIRS).map(|_| talk(&[], false, b"ready\n"));
        let quits = (0..8).map(|_| talk(&[(6, b"a\nquit\n")], false, b"ready\n1: a\nbye\n"));
        let outcome = world.play(silent.chain(quits));
        assert_eq!(outcome.whole, 8);
        assert_eq!(world.waits(), 0);
    });
}

#[test]
fn half_a_line_keeps_buffers_for_no_longer_than_the_line_limit() {
    in_world(|world| {
        let halves = (0..PAIRS).map(|_| talk(&[(6, b"half")], false, b"ready\n"));
        let outcome = world.play(halves.chain([talk(&[(6, b"a\n")], true, b"ready\n1: a\n")]));
        assert_eq!(outcome.different, ["test: a reset came after 6 of 6 bytes"; PAIRS]);
        assert_eq!(outcome.whole, 1);
        let limit_ms = u64::from(LIMITS.line_ms);
        assert!((limit_ms..=limit_ms + 250).contains(&world.now().as_ms()), "{} ms", world.now().as_ms());
    });
}

#[test]
fn a_silent_client_is_closed_at_the_idle_limit() {
    in_world(|world| {
        let outcome = world.play([talk(&[], false, b"ready\n")]);
        assert_eq!(outcome.different, ["test: a reset came after 6 of 6 bytes"]);
        let idle_ms = u64::from(IDLE_MS);
        assert!((idle_ms..=idle_ms + 250).contains(&world.now().as_ms()), "{} ms", world.now().as_ms());
    });
}

#[test]
fn a_wrong_reply_is_noticed() {
    in_world(|world| {
        let outcome = world.play([talk(&[(0, b"a\n")], true, b"ready\n2: a\n")]);
        assert_eq!(outcome.different.len(), 1);
        assert_eq!(outcome.whole, 0);
    });
}
