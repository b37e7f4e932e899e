//! The idle limit while output is pending: only sent bytes count, and each of them counts.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::output::{FLOOD_LIMIT_BYTES, Owed};
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

const SMALL_BUFFER_BYTES: usize = 4096;

/// Later than this after the limit is too late even on a busy machine.
const LATE: Duration = Duration::from_secs(8);

/// Sends lines to a server until it holds replies back. The last byte moved later than the moment that comes with the client.
fn block(address: SocketAddr, pauses: &mut Pauses) -> Result<(Client, Instant), NotPassed> {
    const LINES: usize = 16 * 1024;
    let mut client = Client::connect_small(address, SMALL_BUFFER_BYTES)?;
    let mut owed = Owed::new();
    for _ in 0..FLOOD_LIMIT_BYTES / LINES {
        let before = Instant::now();
        client.send(&b"\n".repeat(LINES))?;
        owed.add(LINES, 0);
        let held_back = owed.held_back_bytes(&client);
        pauses.moved();
        if held_back? > 0 {
            return Ok((client, before));
        }
    }
    Err(client.failed("the server keeps on taking lines from a client that reads nothing"))
}

/// Waits until the server closes the connection of a client that does not read, and checks when. A byte moved later than
/// `moved_after`.
fn expect_closed_after(
    limit: Duration,
    (mut client, mut moved_after): (Client, Instant),
    mut meanwhile: impl FnMut(&mut Client),
) -> Outcome {
    let mut under_way = 0;
    let mut moved_before = Instant::now();
    let mut last_look = moved_after;
    loop {
        let looked = Instant::now();
        let now = match Ends::steady(&client) {
            Ok(ends) => ends.replies_under_way(),
            Err(NotPassed::Failed(_)) => break,
            Err(skipped) => return Err(skipped),
        };
        if now > under_way {
            (under_way, moved_after, moved_before) = (now, last_look, Instant::now());
        }
        ensure!(
            moved_before.elapsed() < limit + LATE,
            "{:?} after the last byte of its replies could be sent the connection is still open (limit {limit:?})",
            moved_before.elapsed()
        );
        last_look = looked;
        meanwhile(&mut client);
        std::thread::sleep(Duration::from_millis(10));
    }
    let lasted = moved_after.elapsed();
    ensure!(
        lasted >= limit,
        "closed at most {lasted:?} after the last byte of its replies was sent (limit {limit:?})"
    );
    Ok(())
}

fn stuck_output_is_closed(context: &Context) -> Outcome {
    let limit = Duration::from_secs(2);
    let server = context.spawn(&["--idle-timeout", "2"])?;
    in_time(limit, |pauses| expect_closed_after(limit, block(server.address(), pauses)?, |_| {}))
}

fn input_does_not_keep_stuck_output_alive(context: &Context) -> Outcome {
    let limit = Duration::from_secs(2);
    let server = context.spawn(&["--idle-timeout", "2"])?;
    in_time(limit, |pauses| {
        expect_closed_after(limit, block(server.address(), pauses)?, |client| {
            // When it fails the connection is closed, which the next look sees.
            let _ = client.send_some(b"\n");
        })
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
