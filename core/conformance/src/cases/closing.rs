//! Ends: whoever ends the conversation and however, the last reply arrives, and nothing is left behind.

use std::time::{Duration, Instant};

use super::holding::{FLOOD_LIMIT_BYTES, SMALL_BUFFER_BYTES, TAKES_NOTHING};
use super::watch::{descriptors_are_back, quiet, wait_until, works};
use crate::case::{Case, Needs, NotPassed, Outcome, Pace};
use crate::client::{Client, GREETING};
use crate::context::Context;
use crate::ensure;
use crate::model::answer;
use crate::process::{Server, Usage};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "closing::last_reply_survives_unread_input",
        rule: "rule 5: the last reply never dies in a reset, whatever the client still sends [C01]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: last_reply_survives_unread_input,
    },
    Case {
        name: "closing::last_reply_survives_a_sending_client",
        rule: "rule 5: what still arrives is discarded until the peer's end, and the last reply never dies in a reset [C01]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: last_reply_survives_a_sending_client,
    },
    Case {
        name: "closing::refusal_survives_unread_input",
        rule: "rule 10: a client beyond the limit is told `server full`; rule 5: that does not die in a reset [C01]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: refusal_survives_unread_input,
    },
    Case {
        name: "closing::lingers_two_seconds_in_total",
        rule: "rule 5: discard what still arrives until the peer's end or two seconds in total, then close",
        needs: Needs::Address,
        pace: Pace::Together,
        run: lingers_two_seconds_in_total,
    },
    Case {
        name: "closing::half_close_is_not_gone",
        rule: "rule 4: a peer that shuts its sending side still gets every reply, then our end of stream [C02]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: half_close_is_not_gone,
    },
    Case {
        name: "closing::half_close_with_much_to_say",
        rule: "rule 4: a peer that shuts its sending side still gets every reply, also when they need many sends [C02]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: half_close_with_much_to_say,
    },
    Case {
        name: "closing::half_close_while_blocked_is_quiet",
        rule: "rule 7: a half-closed connection whose replies do not leave costs no CPU; rule 4: it loses none [C02]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: half_close_while_blocked_is_quiet,
    },
    Case {
        name: "closing::line_before_the_close_counts",
        rule: "rule 4: data that came with a hang-up is read first [C04]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: line_before_the_close_counts,
    },
    Case {
        name: "closing::reset_is_noticed_in_any_state",
        rule: "rule 4: an error or hang-up while reading is off must not fire twice; rule 7: no CPU for nothing [C06]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: reset_is_noticed_in_any_state,
    },
    Case {
        name: "closing::vanished_readers_do_not_kill",
        rule: "rule 12: SIGPIPE never kills: peers that vanish with replies under way are only their own end [C07]",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: vanished_readers_do_not_kill,
    },
];

/// The ways to make the server close, with input left unread behind them.
fn closing_inputs() -> [(&'static str, Vec<u8>); 5] {
    let rest = b"more and more\n".repeat(200 * 1024 / 14);
    [
        ("a line, `quit` and 200 KB", [&b"a\nquit\n"[..], &rest].concat()),
        ("`quit` and one byte", b"quit\nx".to_vec()),
        ("100 KB without a line feed", vec![b'a'; 100 * 1024]),
        ("4097 bytes without a line feed", vec![b'a'; 4097]),
        ("a line, one that is too long and 200 KB", [b"a\n", &vec![b'b'; 4096][..], b"\n", &rest].concat()),
    ]
}

/// A sleepy client: the reply must still be there, not wiped out by a reset.
const SLEEP: Duration = Duration::from_millis(200);

fn last_reply_survives_unread_input(context: &Context) -> Outcome {
    const ROUNDS: usize = 10;
    let inputs = closing_inputs();
    let answers: Vec<Vec<u8>> = inputs.iter().map(|(_, input)| answer(input).bytes).collect();
    for round in 0..ROUNDS {
        let mut clients = Vec::new();
        for (what, input) in &inputs {
            let mut client = context.connect()?;
            client.send(input).map_err(|failure| failure.within(what))?;
            clients.push(client);
        }
        std::thread::sleep(SLEEP);
        for ((client, (what, _)), bytes) in clients.iter_mut().zip(&inputs).zip(&answers) {
            let place = |failure: NotPassed| failure.within(format!("{what}, round {round}"));
            client.expect(bytes).map_err(place)?;
            client.expect_end().map_err(place)?;
        }
    }
    Ok(())
}

fn last_reply_survives_a_sending_client(context: &Context) -> Outcome {
    const ROUNDS: usize = 10;
    for round in 0..ROUNDS {
        for (what, input) in closing_inputs() {
            let mut client = context.connect()?;
            let bytes = answer(&input).bytes;
            // In small writes, so that the server closes in the midst of them.
            let played = client.while_sending_pieces(&input, 1000, |client| {
                client.expect(&bytes)?;
                client.expect_end()
            });
            played.map_err(|failure| failure.within(format!("{what}, sent while reading, round {round}")))?;
        }
    }
    Ok(())
}

fn refusal_survives_unread_input(context: &Context) -> Outcome {
    let server = context.spawn(&["--max-connections", "1"])?;
    let mut only = Client::greeted(server.address())?;
    for round in 0..10 {
        let mut refused = Client::connect(server.address())?;
        refused.send(&b"hello\n".repeat(10_000))?;
        std::thread::sleep(SLEEP / 4);
        let place = |failure: NotPassed| failure.within(format!("a refused client that sent 60 KB, round {round}"));
        refused.expect(b"server full\n").map_err(place)?;
        refused.expect_end().map_err(place)?;
    }
    only.send(b"quit\n")?;
    only.expect(b"bye\n")?;
    only.expect_end()
}

fn lingers_two_seconds_in_total(context: &Context) -> Outcome {
    const LINGER: Duration = Duration::from_secs(2);
    /// On top of it; a machine may be busy, but a server that starts anew with each byte would never get there.
    const LATE: Duration = Duration::from_secs(8);
    let mut client = context.greeted()?;
    let start = Instant::now();
    client.send(b"quit\n")?;
    client.expect(b"bye\n")?;
    client.expect_end()?;
    // The server's end of stream has come; whether it still takes bytes only sending tells.
    while client.send(b"x\n").is_ok() {
        ensure!(
            start.elapsed() < LINGER + LATE,
            "{:?} after `quit` the server still takes what the client sends",
            start.elapsed()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = start.elapsed();
    ensure!(
        took >= LINGER,
        "{took:?} after `quit` was sent the server refused what the client sent: it discards for two seconds"
    );
    Ok(())
}

/// The server is stopped while data and end arrive, so that it finds both in one look.
fn half_close_is_not_gone(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    let inputs: [&[u8]; 5] = [b"a\nb\nc\n", b"a\nb\ntail", b"", b"quit\n", b"tail"];
    for accepted_before in [true, false] {
        let mut clients = Vec::new();
        if !accepted_before {
            server.freeze()?;
        }
        for _ in inputs {
            clients.push(Client::connect(server.address())?);
        }
        if accepted_before {
            for client in &mut clients {
                client.expect(GREETING)?;
            }
            server.freeze()?;
        }
        for (client, input) in clients.iter_mut().zip(inputs) {
            client.send_with_end(input)?;
        }
        server.thaw()?;
        for (client, input) in clients.iter_mut().zip(inputs) {
            let bytes = answer(input).bytes;
            client.expect(&bytes[client.came_bytes()..])?;
            client.expect_end()?;
        }
    }
    Ok(())
}

fn half_close_with_much_to_say(context: &Context) -> Outcome {
    let long = [&vec![b'x'; 4000][..], b"\n"].concat();
    for input in [long.repeat(500), [&b"a\n".repeat(50_000)[..], b"tail"].concat()] {
        // A small window makes many sends of it, and keeps the server waiting for the client.
        let mut client = Client::connect_small(context.address()?, 16 * 1024)?;
        let bytes = answer(&input).bytes;
        client.while_sending_with_end(&input, |client| {
            client.expect(&bytes)?;
            client.expect_end()
        })?;
    }
    Ok(())
}

fn half_close_while_blocked_is_quiet(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    let mut client = Client::connect_small(server.address(), SMALL_BUFFER_BYTES)?;
    let taken = client.flood(b"\n", TAKES_NOTHING, FLOOD_LIMIT_BYTES)?;
    client.half_close()?;
    quiet(&server, Duration::from_secs(2), 2, "a client that has ended its side and does not read its replies")?;
    client.widen()?;
    client.expect(&answer(&b"\n".repeat(taken)).bytes)?;
    client.expect_end()
}

/// The client is gone before the server looks, so nobody sees the reply: only the server's own system calls tell of it.
fn line_before_the_close_counts(context: &Context) -> Outcome {
    let server = context.launch(&[])?.traced(&["-s", "200"])?.start()?;
    let mut client = Client::greeted(server.address())?;
    let mark = server.trace()?.mark()?;
    server.freeze()?;
    client.send(b"the last words\nquit\n")?;
    drop(client);
    server.thaw()?;
    let answered = wait_until("both lines are answered", || {
        let calls = server.trace()?.calls_since(mark)?;
        let sends = |text: &str| {
            let is_send = |name: &str| name.contains("send") || name.contains("write");
            calls.iter().any(|call| is_send(&call.name) && call.text.contains(text))
        };
        Ok(sends("1: the last words") && sends("bye"))
    });
    answered.map_err(|failure| {
        failure.within(
            "sent \"the last words\\nquit\\n\" and closed while the server was stopped; its sends show no answer",
        )
    })?;
    works(server.address())
}

fn reset_is_noticed_in_any_state(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    let before = settled(&server)?;
    let check = |what: &str, client: Client| {
        client.reset()?;
        let place = |failure: NotPassed| failure.within(format!("a reset from {what}"));
        descriptors_are_back(&server, before).map_err(place)?;
        quiet(&server, Duration::from_millis(500), 2, what)?;
        works(server.address()).map_err(place)
    };

    check("an idle client", Client::greeted(server.address())?)?;

    let mut client = Client::connect_small(server.address(), SMALL_BUFFER_BYTES)?;
    client.flood(b"\n", TAKES_NOTHING, FLOOD_LIMIT_BYTES)?;
    check("a client whose replies are held back", client)?;

    let mut client = Client::connect_small(server.address(), SMALL_BUFFER_BYTES)?;
    client.flood(b"\n", TAKES_NOTHING, FLOOD_LIMIT_BYTES)?;
    client.half_close()?;
    check("a client that ended its side while its replies are held back", client)?;

    let mut client = Client::greeted(server.address())?;
    client.send(b"half a li")?;
    check("a client in the middle of a line", client)?;

    let mut client = Client::greeted(server.address())?;
    client.send(b"quit\n")?;
    client.expect(b"bye\n")?;
    check("a client that was told `bye`", client)
}

/// What the server uses once a first client has come and gone: some things it opens only then.
fn settled(server: &Server) -> Result<Usage, NotPassed> {
    works(server.address())?;
    quiet(server, Duration::from_millis(200), 2, "after the first client has gone")?;
    server.usage()
}

fn vanished_readers_do_not_kill(context: &Context) -> Outcome {
    const CLIENTS: usize = 500;
    let mut server = context.spawn(&[])?;
    let before = settled(&server)?;
    let lines = b"a line that nobody reads the answer of\n".repeat(100);
    for _ in 0..CLIENTS {
        let mut client = Client::connect(server.address())?;
        client.send(&lines)?;
        client.reset()?;
    }
    descriptors_are_back(&server, before)?;
    server.ensure_alive()?;
    works(server.address())
}
