//! Replies: whole, in order, held back when the client does not read, and never forgotten.

use std::time::{Duration, Instant};

use super::holding::{FLOOD_LIMIT_BYTES, SMALL_BUFFER_BYTES, TAKES_NOTHING, hold_back};
use super::watch::quiet;
use crate::case::{Case, Needs, Outcome, Pace};
use crate::client::{Client, GREETING};
use crate::context::Context;
use crate::ensure;
use crate::model::answer;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "output::hundred_thousand_lines_read_afterwards",
        rule: "rule 2: exactly one reply a line, however the client pipelines; rule 3: memory stays bounded [O01]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: hundred_thousand_lines_read_afterwards,
    },
    Case {
        name: "output::pipelined_while_reading",
        rule: "rule 2: replies are whole and in order, however the client pipelines [O01]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: pipelined_while_reading,
    },
    Case {
        name: "output::no_reader_is_held_back_not_cut_off",
        rule: "rule 3: output that does not leave makes the connection stop receiving; it is not closed for it [O01]",
        needs: Needs::Spawn,
        pace: Pace::Alone,
        run: no_reader_is_held_back_not_cut_off,
    },
    Case {
        name: "output::goes_on_without_a_new_event",
        rule: "rule 3: when output drains, lines that are already buffered go on without any new event [O02]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: goes_on_without_a_new_event,
    },
    Case {
        name: "output::no_interest_in_writing_left_on",
        rule: "rule 6: write interest only while output is pending; rule 7: no wake-up without progress [O03]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: no_interest_in_writing_left_on,
    },
    Case {
        name: "output::partial_writes_lose_and_repeat_nothing",
        rule: "rule 2: replies are whole and in order, however small the pieces in which they leave [O05]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: partial_writes_lose_and_repeat_nothing,
    },
    Case {
        name: "output::ping_pong_is_not_delayed",
        rule: "rule 14: TCP_NODELAY is on: a reply does not wait for an acknowledgement [O07]",
        needs: Needs::Address,
        pace: Pace::Alone,
        run: ping_pong_is_not_delayed,
    },
];

/// Growth of resident memory that is no sign of keeping what a client sends.
const MEMORY_SLACK_BYTES: u64 = 1 << 20;

fn hundred_thousand_lines_read_afterwards(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    // A first client makes the server touch the memory that any client needs.
    warm_up(server.address())?;
    let before = server.usage()?.rss_bytes;
    let mut client = Client::connect(server.address())?;
    let input = b"a\n".repeat(100_000);
    client.exchange_late(&input, &answer(&input).bytes)?;
    client.half_close()?;
    client.expect_end()?;
    let after = server.usage()?.rss_bytes;
    ensure!(
        after <= before + MEMORY_SLACK_BYTES,
        "the server's memory grew from {before} to {after} bytes while it answered 100,000 lines"
    );
    Ok(())
}

fn warm_up(address: std::net::SocketAddr) -> Outcome {
    let mut client = Client::connect(address)?;
    let input = [&b"a\n".repeat(5_000)[..], b"quit\n"].concat();
    client.exchange(&input, &answer(&input).bytes)?;
    client.expect_end()
}

fn pipelined_while_reading(context: &Context) -> Outcome {
    let input: Vec<u8> = (0..20_000).flat_map(|n| format!("this is line {n}\n").into_bytes()).collect();
    let mut client = context.connect()?;
    client.exchange(&input, &answer(&input).bytes)?;

    // Random lines of random lengths, ended by `quit`.
    let mut random = context.random(1);
    let mut input = Vec::new();
    for _ in 0..5_000 {
        let length = if random.below(50) == 0 { random.below(4096) } else { random.below(200) };
        input.extend((0..length).map(|_| b' ' + random.below(95) as u8));
        input.push(b'\n');
    }
    input.extend_from_slice(b"quit\n");
    let mut client = context.connect()?;
    client.exchange(&input, &answer(&input).bytes)?;
    client.expect_end()
}

fn no_reader_is_held_back_not_cut_off(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    warm_up(server.address())?;
    let before = server.usage()?.rss_bytes;
    let mut client = Client::connect_small(server.address(), SMALL_BUFFER_BYTES)?;
    let taken = client.flood(b"abc\n", TAKES_NOTHING, FLOOD_LIMIT_BYTES)?;
    let after = server.usage()?.rss_bytes;
    ensure!(
        after <= before + MEMORY_SLACK_BYTES,
        "a client sent {taken} bytes and read nothing: the server's memory grew from {before} to {after} bytes"
    );
    quiet(&server, Duration::from_secs(2), 2, "a client that reads nothing, with replies and lines waiting")?;

    // Whatever the kernel took ends in the middle of a line or behind one: without a line feed it is a tail.
    let input: Vec<u8> = b"abc\n".iter().copied().cycle().take(taken).collect();
    client.half_close()?;
    client.widen()?;
    client.expect(&answer(&input).bytes)?;
    client.expect_end()
}

/// The state that this is about: the server has taken all that the client sent, holds replies (and lines, as a segment of short
/// lines makes far more output than a buffer holds), and nothing new will arrive. Then the client reads.
fn goes_on_without_a_new_event(context: &Context) -> Outcome {
    // 4096 bytes of two-byte lines.
    let segment = b"a\n".repeat(2048);
    for ending in [Ending::Line, Ending::End, Ending::Quit] {
        let mut client = Client::connect_small(context.address()?, SMALL_BUFFER_BYTES)?;
        let mut input = Vec::new();
        hold_back(&mut client, &segment, &mut input)?;
        std::thread::sleep(Duration::from_millis(300));
        match ending {
            Ending::Line => {}
            Ending::End => client.half_close()?,
            Ending::Quit => {
                client.send(b"quit\n")?;
                input.extend_from_slice(b"quit\n");
            }
        }
        client.widen()?;
        client.expect(&answer(&input).bytes).map_err(|failure| failure.within(format!("{ending:?}")))?;
        if ending == Ending::Line {
            let number = input.len() / 2 + 1;
            client.send(b"b\n")?;
            client.expect(format!("{number}: b\n").as_bytes())?;
        } else {
            client.expect_end()?;
        }
    }
    quit_and_end_in_the_buffer(context)
}

/// What waits behind the lines that are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Nothing: the client is silent, and sends one more line when all is answered.
    Line,
    /// The end of the stream, sent while the output is blocked.
    End,
    /// `quit`, sent while the output is blocked.
    Quit,
}

/// A segment so large that the server reads nothing else with it, whose replies need many sends, with `quit` or the end right
/// behind: when the replies have left, no event will tell of what is in the buffer.
fn quit_and_end_in_the_buffer(context: &Context) -> Outcome {
    for tail in [&b"quit\n"[..], b"", b"tail"] {
        for lines in [100, 700, 2040] {
            let input = [&b"a\n".repeat(lines)[..], tail].concat();
            let mut client = Client::connect_small(context.address()?, SMALL_BUFFER_BYTES)?;
            client.send_with_end(&input)?;
            client.expect(&answer(&input).bytes)?;
            client.expect_end()?;
        }
    }
    Ok(())
}

fn no_interest_in_writing_left_on(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    let watch = |what| quiet(&server, Duration::from_secs(2), 2, what);
    let mut client = Client::greeted(server.address())?;
    client.send(b"one\n")?;
    client.expect(b"1: one\n")?;
    watch("a client that was answered and is silent")?;

    let mut blocked = Client::connect_small(server.address(), SMALL_BUFFER_BYTES)?;
    let taken = blocked.flood(b"\n", TAKES_NOTHING, FLOOD_LIMIT_BYTES)?;
    blocked.widen()?;
    blocked.expect(&answer(&b"\n".repeat(taken)).bytes)?;
    watch("a client whose replies were held back and have all left")?;

    // The server lingers for two seconds at most: watch it for less.
    client.send(b"quit\n")?;
    client.expect(b"bye\n")?;
    client.expect_end()?;
    quiet(&server, Duration::from_secs(1), 2, "a client that was told `bye` and keeps its side open")
}

fn partial_writes_lose_and_repeat_nothing(context: &Context) -> Outcome {
    let mut random = context.random(0);
    let mut input = Vec::new();
    for line in 0..15_000 {
        let length = [0, 1, 7, 100, 1000, 4095][random.below(6)].min(4095);
        input.extend((0..length).map(|at| b'!' + ((line + at) % 90) as u8));
        input.push(b'\n');
    }
    let expected = answer(&input).bytes;
    let mut client = Client::connect_small(context.address()?, SMALL_BUFFER_BYTES)?;
    client.while_sending(&input, |client| {
        let mut rest = &expected[..];
        while !rest.is_empty() {
            // Slower than the server, so that its sends are held up again and again, and in the midst of a reply.
            std::thread::sleep(Duration::from_millis(1));
            let (sip, later) = rest.split_at(rest.len().min(1 + random.below(40_000)));
            client.expect(sip)?;
            rest = later;
        }
        Ok(())
    })?;
    client.half_close()?;
    client.expect_end()
}

fn ping_pong_is_not_delayed(context: &Context) -> Outcome {
    const ROUNDS: usize = 1000;
    // Nagle's algorithm with delayed acknowledgements costs 40 ms a round: far more than this, which is far more than is needed.
    const LIMIT: Duration = Duration::from_secs(10);
    let start = Instant::now();
    let mut client = Client::connect(context.address()?)?;
    client.expect(GREETING)?;
    for round in 0..ROUNDS {
        client.send(b"ping\n")?;
        client.expect(format!("{}: ping\n", 2 * round + 1).as_bytes())?;
        // Two segments, of which the second completes the line.
        client.send(b"p")?;
        client.send(b"ong\n")?;
        client.expect(format!("{}: pong\n", 2 * round + 2).as_bytes())?;
        let took = start.elapsed();
        ensure!(
            took < LIMIT,
            "{} replies, one line in flight, took {took:?} (limit {LIMIT:?} for {ROUNDS})",
            2 * round
        );
    }
    Ok(())
}
