//! What the traits provide to those who say nothing else: a protocol that has only lines, and a server over a host that
//! has only what it must. And what values are to begin with, and errors say.

mod protocol;
mod server;

use evserver_core::{
    BUFFER_BYTES, Buffers, CloseReason, Counts, Late, Limits, NoRoom, NumberedEcho, STEPS_IN_A_TURN, Settings,
    TURN_BYTES, Token,
};

#[test]
fn what_is_there_without_being_set_is_what_the_constructors_make() {
    assert!(Buffers::<BUFFER_BYTES>::default().is_empty());
    assert_eq!(Limits::default(), Limits::new());
    assert_eq!(Limits::new(), Limits { idle_ms: 30_000, line_ms: 0, linger_ms: 2_000 });
    assert_eq!(Counts::default(), Counts::new());
    assert_eq!(format!("{:?}", NumberedEcho::default()), format!("{:?}", NumberedEcho::new()));
    let Settings { limits, max_connections, drain_ms, edge_triggered } = Settings::default();
    assert_eq!((limits, max_connections, drain_ms, edge_triggered), (Limits::new(), None, 5_000, false));
}

/// Rule 9.
#[test]
fn a_turn_is_64_kib_and_64_steps() {
    assert_eq!((TURN_BYTES, STEPS_IN_A_TURN), (65_536, 64));
}

#[test]
fn what_a_limit_of_time_a_failure_and_a_panic_closed_is_counted_as_that() {
    use CloseReason::*;
    let reasons = [
        (Protocol, [0, 0, 0]),
        (PeerEnd, [0, 0, 0]),
        (IdleTimeout, [1, 0, 0]),
        (LineTimeout, [1, 0, 0]),
        (Drained, [0, 0, 0]),
        (DrainTimeout, [1, 0, 0]),
        (Refused, [0, 0, 0]),
        (Failed, [0, 1, 0]),
        (NoProgress, [0, 0, 0]),
        (Panicked, [0, 0, 1]),
    ];
    for (reason, expected) in reasons {
        let mut counts = Counts::new();
        counts.opened();
        counts.opened();
        counts.closed(reason);
        assert_eq!([counts.timed_out, counts.failed, counts.panicked], expected, "{reason:?}");
        assert_eq!((counts.served, counts.open, counts.peak), (2, 1, 2));
        assert_eq!(reason.is_timeout(), expected[0] == 1, "{reason:?}");
    }
}

#[test]
fn a_token_is_the_same_after_it_was_a_number() {
    for bits in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX] {
        assert_eq!(Token::from_bits(bits).to_bits(), bits);
    }
    assert_ne!(Token::from_bits(1), Token::from_bits(1 << 32));
}

#[test]
fn errors_say_what_they_are() {
    assert_eq!(Late.to_string(), "nobody waits for this answer any more");
    assert_eq!(NoRoom.to_string(), "no room in the output buffer");
}

#[test]
fn counts_of_several_loops_are_sums() {
    let one = Counts { served: 1, open: 2, peak: 3, refused: 4, timed_out: 5, failed: 6, panicked: 7 };
    let mut sum = Counts { served: 10, open: 20, peak: 30, refused: 40, timed_out: 50, failed: 60, panicked: 70 };
    sum.add(&one);
    assert_eq!(
        sum,
        Counts { served: 11, open: 22, peak: 33, refused: 44, timed_out: 55, failed: 66, panicked: 77 }
    );
}
