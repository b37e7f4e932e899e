//! The benches, and the ratio that has a goal.

use std::hint::black_box;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, bench};
use evserver_load::framing::{ByHand, Contestant, InCore, PIECE_BYTES_MAX, check, core_ratio, lines};

use crate::others::{BareCopy, Lines, ReadUntil};

/// The core's throughput for that of the loop written by hand, at least.
const GOAL: f64 = 0.8;

/// Lengths for which it is a goal.
const GOAL_LINE_BYTES: [usize; 2] = [32, 1000];

const LINE_BYTES: [usize; 4] = [1, 32, 1000, 4095];

pub fn main() {
    divan::main();
    // Cargo says so when it is to measure; a test only runs everything once.
    if std::env::args().any(|argument| argument == "--bench") {
        for line_bytes in GOAL_LINE_BYTES {
            match core_ratio(line_bytes) {
                Ok(ratio) => println!("core / by hand, lines of {line_bytes}: {ratio:.2} (goal: at least {GOAL})"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// As many bytes as fit a buffer come at a time.
#[bench(types = [InCore, ByHand, BareCopy, Lines, ReadUntil], args = LINE_BYTES)]
fn full_buffer<C: Contestant>(bencher: Bencher<'_, '_>, line_bytes: usize) {
    measure::<C>(bencher, line_bytes, PIECE_BYTES_MAX);
}

/// Each byte comes alone.
#[bench(types = [InCore, ByHand, BareCopy, Lines, ReadUntil], args = LINE_BYTES, sample_count = 20)]
fn byte_by_byte<C: Contestant>(bencher: Bencher<'_, '_>, line_bytes: usize) {
    measure::<C>(bencher, line_bytes, 1);
}

fn measure<C: Contestant>(bencher: Bencher<'_, '_>, line_bytes: usize, piece_bytes: usize) {
    let count = if line_bytes == 1 { 1_000_000 } else { 1000 };
    let stream = lines(count, line_bytes);
    assert!(check::<C>(&stream, piece_bytes), "wrong replies to lines of {line_bytes} bytes");
    bencher
        .counter(BytesCount::of_slice(&*stream))
        .counter(ItemsCount::new(count))
        .with_inputs(C::default)
        .bench_local_refs(|contestant| {
            contestant.answer(black_box(&stream), piece_bytes, |bytes| {
                black_box(bytes);
            });
        });
}
