//! Rule 1: a byte that was searched is not searched again, and what moves in a buffer is bounded by what is received.

use super::script::{NEWLINE, Script};
use super::talk::{Talk, echo};
use super::*;
use crate::buffers::tally;

#[test]
fn a_line_that_comes_byte_by_byte_is_searched_once() {
    let mut talk = echo::<4096>();
    tally::take();
    for _ in 0..4095 {
        talk.exchange(b"x");
    }
    assert!(talk.exchange(b"\n").len() > 4095);
    // Its end is looked at once more for the second piece of its reply.
    assert_eq!(tally::take(), (4096 + 1, 0));
}

#[test]
fn lines_that_wait_for_room_are_not_shifted_one_by_one() {
    let mut talk = echo::<4096>();
    tally::take();
    talk.receive(&b"a\n".repeat(2048));
    talk.take_all();
    let (searched, moved) = tally::take();
    // Whoever had to wait is found again by one byte.
    assert!(searched <= 4096 + 2048 && moved == 0, "{searched} searched, {moved} moved");
}

#[test]
fn a_body_that_comes_byte_by_byte_costs_nothing_more() {
    let script = Script::<NEWLINE>::new();
    script.then(|_| Next::Line).then(|_| Next::Body(1 << 20));
    let mut talk = Talk::<_, 4096>::new(script);
    talk.receive(b"put\n");
    tally::take();
    for _ in 0..1 << 20 {
        talk.receive(b"\n");
    }
    assert_eq!(tally::take(), (0, 0));
    talk.receive(b"a\n");
    assert_eq!(tally::take(), (2, 0));
}

#[test]
fn no_more_bytes_move_than_are_received_wherever_lines_are_cut() {
    for length in [1, 2, 30, 100, 2_047, 2_048, 2_049, 4_000, 4_096] {
        for piece in [1, 7, 100, 2_048, 4_095, 4_096] {
            let mut talk = echo::<4096>();
            let line = [&[b'x'].repeat(length - 1)[..], b"\n"].concat();
            let sent = line.repeat(40_000 / length + 2);
            tally::take();
            for bytes in sent.chunks(piece) {
                talk.exchange(bytes);
            }
            let (searched, moved) = tally::take();
            assert!(searched <= 2 * sent.len(), "{length} in {piece}: {searched} of {} searched", sent.len());
            assert!(moved <= sent.len(), "{length} in {piece}: {moved} of {} moved", sent.len());
        }
    }
}
