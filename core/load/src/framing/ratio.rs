//! The core beside the loop written by hand, in one figure.

use std::hint::black_box;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::{ByHand, Contestant, InCore, PIECE_BYTES_MAX, check, lines};
use crate::failure::{Failure, Outcome};

/// Rounds; in each both contestants run, and who is first changes.
const ROUNDS: usize = 31;

/// Bytes of lines that a contestant answers in a round, whatever their length: some milliseconds.
const ROUND_BYTES: usize = 8 << 20;

/// Bytes of lines that are in memory: they stay in the cache of any processor.
const STREAM_BYTES: usize = 64 << 10;

/// The core's throughput of lines of `line_bytes` bytes that come a full buffer at a time, divided by that of the loop
/// written by hand: 1 is as fast, less is slower. The median of alternating rounds, in CPU time of the thread.
///
/// # Errors
/// When one of them sends other bytes than the model, or there is no such clock.
pub fn core_ratio(line_bytes: usize) -> Outcome<f64> {
    ratio_of(line_bytes, ROUNDS, ROUND_BYTES)
}

fn ratio_of(line_bytes: usize, rounds: usize, round_bytes: usize) -> Outcome<f64> {
    let stream = lines((STREAM_BYTES / (line_bytes + 1)).max(1), line_bytes);
    if !check::<InCore>(&stream, PIECE_BYTES_MAX) || !check::<ByHand>(&stream, PIECE_BYTES_MAX) {
        return Err(Failure::Refused(format!("wrong replies to lines of {line_bytes} bytes")));
    }
    let times = (round_bytes / stream.len()).max(1);
    let mut ratios = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let (core, hand) = if round % 2 == 0 {
            let core = time::<InCore>(&stream, times)?;
            (core, time::<ByHand>(&stream, times)?)
        } else {
            let hand = time::<ByHand>(&stream, times)?;
            (time::<InCore>(&stream, times)?, hand)
        };
        ratios.push(hand.as_secs_f64() / core.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[rounds / 2])
}

/// CPU time of this thread for the stream, so many times on one connection.
fn time<C: Contestant>(stream: &[u8], times: usize) -> Outcome<Duration> {
    let mut contestant = C::default();
    let start = thread_cpu()?;
    for _ in 0..times {
        contestant.answer(black_box(stream), PIECE_BYTES_MAX, |bytes| {
            black_box(bytes);
        });
    }
    Ok(thread_cpu()? - start)
}

fn thread_cpu() -> Outcome<Duration> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_err(|error| Failure::io("cannot read the CPU time of this thread", error))?;
    Ok(Duration::new(time.tv_sec() as u64, time.tv_nsec() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without optimisation and in a few rounds the figure says nothing, but that both did run.
    #[test]
    fn it_is_a_ratio() {
        for line_bytes in [0, 32, 4095] {
            let ratio = ratio_of(line_bytes, 3, STREAM_BYTES).unwrap();
            assert!((0.001..1000.0).contains(&ratio), "{ratio}");
        }
    }
}
