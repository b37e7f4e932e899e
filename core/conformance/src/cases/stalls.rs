//! The idle limit while output is pending: only sent bytes count, and each of them counts.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::holding::SMALL_BUFFER_BYTES;
use crate::case::{Case, Needs, NotPassed, Outcome, Pace};
use crate::client::{Client, GREETING};
use crate::context::Context;
use crate::ensure;
use crate::model::answer;
use crate::queues::Ends;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "stalls::stuck_output_is_closed",
        rule: "rule 8: the idle limit holds for a client that does not read, from the last byte sent, never early [O04]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: stuck_output_is_closed,
    },
    Case {
        name: "stalls::input_does_not_keep_stuck_output_alive",
        rule: "rule 8: while output is pending only sent bytes count [O04]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: input_does_not_keep_stuck_output_alive,
    },
    Case {
        name: "stalls::slow_reader_is_not_cut",
        rule: "rule 8: the idle limit counts from the last byte that moved: sent bytes start it anew [O04]",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: slow_reader_is_not_cut,
    },
    Case {
        name: "stalls::short_stall_after_idling_is_not_cut",
        rule: "rule 8: the idle limit counts from the last byte that moved, not from before the stall [O04]",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: short_stall_after_idling_is_not_cut,
    },
];

/// Later than this after the limit is too late even on a busy machine.
const LATE: Duration = Duration::from_secs(8);

/// Between two looks at the kernel's queues.
const LOOKS_APART: Duration = Duration::from_millis(10);

/// A client that reads nothing sends lines for as long as the server takes them, then `meanwhile` at every look; checks that
/// the server closes the connection the limit after the last byte that it could send, and not earlier.
fn expect_closed_after(limit: Duration, address: SocketAddr, mut meanwhile: impl FnMut(&mut Client)) -> Outcome {
    let lines = b"\n".repeat(16 * 1024);
    let start = Instant::now();
    let mut client = Client::connect_small(address, SMALL_BUFFER_BYTES)?;
    let mut under_way = 0;
    // The last byte was sent later than this.
    let mut sent_after = start;
    let mut last_look = start;
    let mut waited = Duration::ZERO;
    loop {
        let looked = Instant::now();
        let ends = match Ends::steady(&client) {
            Ok(ends) => ends,
            Err(NotPassed::Failed(_)) => break,
            Err(skipped) => return Err(skipped),
        };
        if ends.replies_under_way() > under_way {
            (under_way, sent_after, waited) = (ends.replies_under_way(), last_look, Duration::ZERO);
        }
        // When this process did not run for long, the server may not have run either.
        waited += looked.duration_since(last_look).min(LOOKS_APART * 10);
        ensure!(
            waited < limit + LATE,
            "{waited:?} after the last byte of its replies could be sent the connection is still open (limit {limit:?})"
        );
        last_look = looked;
        // What cannot be sent any more is sent to a closed connection, which the next look sees.
        if ends.server.receive_bytes == 0 {
            let _ = client.send_some(&lines);
        }
        meanwhile(&mut client);
        std::thread::sleep(LOOKS_APART);
    }
    let lasted = sent_after.elapsed();
    ensure!(
        lasted >= limit,
        "closed at most {lasted:?} after the last byte of its replies was sent (limit {limit:?})"
    );
    Ok(())
}

fn stuck_output_is_closed(context: &Context) -> Outcome {
    let server = context.spawn(&["--idle-timeout", "2"])?;
    expect_closed_after(Duration::from_secs(2), server.address(), |_| {})
}

fn input_does_not_keep_stuck_output_alive(context: &Context) -> Outcome {
    let server = context.spawn(&["--idle-timeout", "2"])?;
    expect_closed_after(Duration::from_secs(2), server.address(), |client| {
        let _ = client.send_some(b"\n");
    })
}

/// A client that must not be cut has to keep the limit itself. `attempt` tells its longest pause; when this machine was too busy
/// to keep the limit, it is tried again.
fn in_time(limit: Duration, mut attempt: impl FnMut(&mut Pauses) -> Outcome) -> Outcome {
    const ATTEMPTS: usize = 5;
    for _ in 0..ATTEMPTS {
        let mut pauses = Pauses { last: Instant::now(), longest: Duration::ZERO };
        let outcome = attempt(&mut pauses);
        if outcome.is_ok() || pauses.longest < limit {
            return outcome;
        }
    }
    Err(NotPassed::skipped_loudly("this machine is too busy to keep a limit of some seconds"))
}

/// How long a client did nothing.
struct Pauses {
    last: Instant,
    longest: Duration,
}

impl Pauses {
    /// Something has just moved, or it is now known that something did after the last time.
    fn moved(&mut self) {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = Instant::now();
    }
}

fn slow_reader_is_not_cut(context: &Context) -> Outcome {
    /// More than any kernel needs to be able to take new bytes from the server again.
    const GULP_BYTES: usize = 2 << 20;
    const GULPS: usize = 5;
    let limit = Duration::from_secs(2);
    let server = context.spawn(&["--idle-timeout", "2"])?;
    let input = b"\n".repeat(1_500_000);
    let expected = answer(&input).bytes;
    in_time(limit, |pauses| {
        let mut client = Client::connect_small(server.address(), 64 * 1024)?;
        client.while_sending(&input, |client| {
            let (slowly, rest) = expected.split_at(GULPS * GULP_BYTES);
            for (gulp, bytes) in slowly.chunks(GULP_BYTES).enumerate() {
                // Half of the limit, so that five pauses are longer than it.
                std::thread::sleep(limit / 2);
                let read = client.expect(bytes);
                pauses.moved();
                read.map_err(|failure| failure.within(format!("gulp {gulp} of a slow reader")))?;
            }
            client.expect(rest)
        })?;
        client.send(b"quit\n")?;
        client.expect(b"bye\n")?;
        client.expect_end()
    })
}

fn short_stall_after_idling_is_not_cut(context: &Context) -> Outcome {
    let limit = Duration::from_secs(3);
    let server = context.spawn(&["--idle-timeout", "3"])?;
    let input = b"\n".repeat(1_000_000);
    let expected = answer(&input).bytes;
    in_time(limit, |pauses| {
        let mut client = Client::connect_small(server.address(), SMALL_BUFFER_BYTES)?;
        client.expect(GREETING)?;
        std::thread::sleep(limit * 2 / 3);
        client.while_sending(&input, |client| {
            pauses.moved();
            // The limit of before has passed when it goes on, that of the stall has not.
            std::thread::sleep(limit / 2);
            client.widen()?;
            let read = client.expect(&expected[client.came_bytes()..]);
            pauses.moved();
            read
        })
    })
}
