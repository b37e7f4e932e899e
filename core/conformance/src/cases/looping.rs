//! The loop: fairness, stops and interruptions, and no work where there is none to do.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::flooder::Flooder;
use super::watch::{answers, ends_with_report, quiet, works};
use crate::process::Signal;
use crate::{Case, Client, Context, DEADLINE, Needs, NotPassed, Outcome, Pace, ensure};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "looping::a_flood_starves_nobody",
        rule: "rule 9: a connection moves at most 64 KiB in a turn, then others have theirs",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: a_flood_starves_nobody,
    },
    Case {
        name: "looping::a_turn_is_bounded",
        rule: "rule 9: a connection moves at most 64 KiB in a turn, then others have theirs",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: a_turn_is_bounded,
    },
    Case {
        name: "looping::floods_share",
        rule: "rule 9: a connection moves at most 64 KiB in a turn, then others have theirs",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: floods_share,
    },
    Case {
        name: "looping::timers_and_signals_act_beside_a_flood",
        rule: "rule 8: the idle limit fires in time; rule 12: SIGTERM ends the program",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: timers_and_signals_act_beside_a_flood,
    },
    Case {
        name: "looping::stopping_and_continuing_loses_nothing",
        rule: "rule 7: progress or silence; an interrupted wait is no error",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: stopping_and_continuing_loses_nothing,
    },
    Case {
        name: "looping::idle_connections_wake_nobody",
        rule: "rule 7: no wake-up without progress; idle connections cost no CPU",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: idle_connections_wake_nobody,
    },
    Case {
        name: "looping::an_expiry_is_no_spin",
        rule: "rule 7: no wake-up without progress; rule 8: at most one timer is armed",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: an_expiry_is_no_spin,
    },
];

fn a_flood_starves_nobody(context: &Context) -> Outcome {
    const CLIENTS: usize = 50;
    const MOVED_BYTES: u64 = 50 << 20;
    /// Generous: the turn of a flooding client is far below a millisecond.
    const CLIENT_LIMIT: Duration = Duration::from_secs(2);
    let server = context.spawn(&[])?;
    let flooder = Flooder::start(server.address())?;
    flooder.moves_on(1 << 20)?;
    for n in 0..CLIENTS {
        let start = Instant::now();
        works(server.address()).map_err(|error| error.within(format!("client {n} beside a flooding one")))?;
        let took = start.elapsed();
        ensure!(took < CLIENT_LIMIT, "client {n} beside a flooding one waited {took:?} from connecting to its end");
        // Or the test would pass by cutting the flooder off.
        flooder.moves_on(1)?;
    }
    flooder.moves_on(MOVED_BYTES.saturating_sub(flooder.moved()))?;
    flooder.finish()
}

fn a_turn_is_bounded(context: &Context) -> Outcome {
    /// The rule's number, and a buffer each way, since a turn ends after the transfer that reaches it.
    const TURN_BYTES: u64 = 64 * 1024 + 2 * 4096;
    /// A turn for its event, and one as a connection with work left over, after others have had theirs: from outside both
    /// lie between the same two waits.
    const BETWEEN_WAITS_BYTES: u64 = 2 * TURN_BYTES;
    if context.traits().thread_a_connection {
        return Err(NotPassed::skipped("with a thread for each connection it is the system that takes turns"));
    }
    let server = context.launch(&[])?.traced(&[])?.start()?;
    let flooder = Flooder::start(server.address())?;
    flooder.moves_on(4 << 20)?;
    flooder.finish()?;
    let mut most = 0;
    let mut turn = BTreeMap::new();
    for call in server.trace()?.calls_since(0)? {
        match &*call.name {
            "recvfrom" | "recvmsg" | "read" | "readv" | "sendto" | "sendmsg" | "write" | "writev" => {
                let moved = turn.entry(call.descriptor()).or_insert(0);
                *moved += call.result().unwrap_or(0);
                most = (*moved).max(most);
            }
            name if name.contains("wait") || name.contains("poll") => turn.clear(),
            _ => {}
        }
    }
    ensure!(most > 0, "the suite: strace's log shows no byte that moved");
    ensure!(
        most <= BETWEEN_WAITS_BYTES,
        "a client streams lines: {most} bytes of it moved between two waits of the server, at most {BETWEEN_WAITS_BYTES} are \
         right"
    );
    Ok(())
}

fn floods_share(context: &Context) -> Outcome {
    const MOVED_BYTES: u64 = 20 << 20;
    /// Equal shares are right; the scheduler's and the socket buffers' moods are not the server's.
    const UNFAIR: u64 = 8;
    let server = context.spawn(&[])?;
    let flooders = (0..3).map(|_| Flooder::start(server.address())).collect::<Result<Vec<_>, _>>()?;
    for flooder in &flooders {
        flooder.moves_on(1)?;
    }
    let before: Vec<u64> = flooders.iter().map(Flooder::moved).collect();
    flooders[0].moves_on(MOVED_BYTES)?;
    let moved: Vec<u64> = flooders.iter().zip(before).map(|(flooder, before)| flooder.moved() - before).collect();
    let (least, most) = (moved.iter().min().unwrap_or(&0), moved.iter().max().unwrap_or(&0));
    ensure!(
        most / UNFAIR <= *least,
        "of three clients that stream lines as fast as they can, replies got: {moved:?} bytes"
    );
    flooders.into_iter().try_for_each(Flooder::finish)
}

fn timers_and_signals_act_beside_a_flood(context: &Context) -> Outcome {
    const IDLE: Duration = Duration::from_secs(1);
    /// Generous: the rule says 250 ms.
    const LATE: Duration = Duration::from_secs(5);
    let mut server = context.spawn(&["--idle-timeout", "1"])?;
    let flooder = Flooder::start(server.address())?;
    flooder.moves_on(1 << 20)?;
    let start = Instant::now();
    let mut silent = Client::greeted(server.address())?;
    silent.expect_gone(DEADLINE)?;
    let took = start.elapsed();
    ensure!(
        took >= IDLE && took < IDLE + LATE,
        "beside a flooding client, a silent one with an idle limit of {IDLE:?} was closed after {took:?}"
    );
    flooder.moves_on(1)?;
    let start = Instant::now();
    server.signal(Signal::Terminate)?;
    flooder.cut_off()?;
    ends_with_report(&mut server, DEADLINE)?;
    let took = start.elapsed();
    ensure!(took < Duration::from_secs(8), "beside a flooding client, SIGTERM took {took:?} to end the server");
    Ok(())
}

fn stopping_and_continuing_loses_nothing(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    let address = server.address();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load: Vec<_> = (0..4).map(|_| scope.spawn(|| ping_pong(address, &done))).collect();
        let stops: Outcome = (0..50).try_for_each(|_| {
            server.freeze()?;
            server.thaw()?;
            // Some work between two stops: an interruption of a wait needs a wait.
            std::thread::sleep(Duration::from_millis(5));
            Ok(())
        });
        done.store(true, Ordering::Relaxed);
        for client in load {
            client.join().unwrap_or_else(|_| Err(NotPassed::failed("the suite: a client panicked")))?;
        }
        stops
    })?;
    works(address)
}

/// One line at a time until it is over, with pauses, so that the server sleeps now and then.
fn ping_pong(address: std::net::SocketAddr, done: &AtomicBool) -> Outcome {
    let mut client = Client::greeted(address)?;
    let mut number = 0;
    while !done.load(Ordering::Relaxed) {
        number += 1;
        answers(&mut client, number)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    client.send(b"quit\n")?;
    client.expect(b"bye\n")?;
    client.expect_end()
}

fn idle_connections_wake_nobody(context: &Context) -> Outcome {
    let server = context.spawn(&["--idle-timeout", "30"])?;
    let mut clients = (0..200).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    for client in &mut clients {
        answers(client, 1)?;
    }
    // No deadline is due in this time.
    quiet(&server, Duration::from_secs(4), 0, "with 200 idle connections")?;
    clients.iter_mut().try_for_each(|client| answers(client, 2))
}

fn an_expiry_is_no_spin(context: &Context) -> Outcome {
    let server = context.spawn(&["--idle-timeout", "0.5"])?;
    let mut first = Client::greeted(server.address())?;
    first.expect_gone(DEADLINE)?;
    quiet(&server, Duration::from_secs(1), 1, "after the first expiry")?;
    // A deadline that is past already when it is looked at: the process stands still meanwhile.
    let mut second = Client::greeted(server.address())?;
    answers(&mut second, 1)?;
    server.freeze()?;
    std::thread::sleep(Duration::from_millis(700));
    server.thaw()?;
    second.expect_gone(DEADLINE)?;
    quiet(&server, Duration::from_secs(1), 1, "after an expiry that was past when it was seen")?;
    works(server.address())
}
