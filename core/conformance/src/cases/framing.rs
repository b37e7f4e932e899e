//! Lines: where they end, how long they may be, and that no verdict depends on how the bytes were cut.

use std::time::Duration;

use crate::case::{Case, Needs, NotPassed, Outcome, Pace};
use crate::client::Client;
use crate::context::Context;
use crate::model::{LONGEST_LINE_BYTES, answer};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "framing::verdict_independent_of_chunks",
        rule: "rule 1: up to 4095 bytes before the LF are a line, however they are cut into reads [F01]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: verdict_independent_of_chunks,
    },
    Case {
        name: "framing::too_long_at_the_byte",
        rule: "rule 1: the 4096th byte without an LF is too long, without waiting for more [F01]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: too_long_at_the_byte,
    },
    Case {
        name: "framing::longest_line_at_any_number",
        rule: "rule 2: replies are whole, also when a longer number makes them larger [F01]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: longest_line_at_any_number,
    },
    Case {
        name: "framing::cr_lf_split_in_time",
        rule: "rule 1: one CR right before the LF is not part of the line, however late the LF comes [F04]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: cr_lf_split_in_time,
    },
    Case {
        name: "framing::cr_lf_split_anywhere",
        rule: "rule 1: one CR right before the LF is not part of the line, wherever it is cut off [F04]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: cr_lf_split_anywhere,
    },
    Case {
        name: "framing::tail_with_end_behind",
        rule: "rule 4: what came with the end of the stream is answered, a tail without LF is not a line [F06]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: tail_with_end_behind,
    },
    Case {
        name: "framing::nul_is_data",
        rule: "rule 1: every byte value but LF is data, NUL too [F07]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: nul_is_data,
    },
    Case {
        name: "framing::every_byte_value",
        rule: "rule 1: every byte value but LF is data and is echoed exactly [F08]",
        needs: Needs::Address,
        pace: Pace::Together,
        run: every_byte_value,
    },
    Case {
        name: "framing::any_bytes_in_any_cuts",
        rule: "rule 1: the verdict is the same however the bytes are cut into reads",
        needs: Needs::Address,
        pace: Pace::Together,
        run: any_bytes_in_any_cuts,
    },
];

/// Sends as a function says, and expects the model's answer to `input`; the conversation ends with our end of stream.
fn converse(context: &Context, input: &[u8], send: impl FnOnce(&mut Client) -> Outcome) -> Outcome {
    let mut client = context.connect()?;
    let answer = answer(input);
    send(&mut client)?;
    if !answer.closes {
        client.half_close()?;
    }
    client.expect(&answer.bytes)?;
    client.expect_end()
}

/// Long enough that the first part is a read of its own; nothing fails when it is not.
const PAUSE: Duration = Duration::from_millis(100);

/// In words, what is sent in all, and how.
type Way<'a> = (&'a str, &'a [u8], &'a dyn Fn(&mut Client) -> Outcome);

fn verdict_independent_of_chunks(context: &Context) -> Outcome {
    for length in LONGEST_LINE_BYTES - 3..=LONGEST_LINE_BYTES + 2 {
        let line = [&vec![b'a'; length][..], b"\n"].concat();
        let after_another = [b"x\n", &line[..]].concat();
        let ten = line.repeat(10);
        let place = |how: &str| format!("{length} bytes before the LF, {how}");
        let ways: [Way<'_>; 7] = [
            ("in one write", &line, &|client| client.send(&line)),
            ("in writes of 64 bytes", &line, &|client| client.send_pieces(line.chunks(64))),
            ("byte by byte", &line, &|client| client.send_pieces(line.chunks(1))),
            ("with a pause before the LF", &line, &|client| {
                client.send(&line[..length])?;
                std::thread::sleep(PAUSE);
                // Too long a line may have ended the conversation already; the LF is discarded then.
                client.send(b"\n")
            }),
            ("behind a short line", &after_another, &|client| client.send(&after_another)),
            ("ten of them", &ten, &|client| client.send(&ten)),
            ("ten of them in writes of 1000 bytes", &ten, &|client| client.send_pieces(ten.chunks(1000))),
        ];
        for (how, input, send) in ways {
            converse(context, input, send).map_err(|failure| failure.within(place(how)))?;
        }
    }
    Ok(())
}

fn too_long_at_the_byte(context: &Context) -> Outcome {
    for before in ["", "x\n", "one\r\ntwo\n"] {
        let mut client = context.greeted()?;
        let input = [before.as_bytes(), &[b'a'; LONGEST_LINE_BYTES]].concat();
        let replies = answer(&input).bytes.split_off(crate::client::GREETING.len());
        client.send(&input)?;
        client.expect(&replies)?;
        // Nothing may come yet, and this byte is all that it takes.
        client.expect_silence(PAUSE)?;
        client.send(b"a")?;
        client.expect(b"line too long\n")?;
        client.expect_end()?;
    }
    Ok(())
}

fn longest_line_at_any_number(context: &Context) -> Outcome {
    let longest = [&[b'a'; LONGEST_LINE_BYTES][..], b"\n"].concat();
    for number in [9, 10, 99, 100, 9_999, 10_000, 999_999, 1_000_000] {
        let input = [&b"\n".repeat(number - 1)[..], &longest, b"x\n", &longest].concat();
        let mut client = context.connect()?;
        let played = client.exchange(&input, &answer(&input).bytes);
        let ended = played.and_then(|()| client.half_close()).and_then(|()| client.expect_end());
        ended.map_err(|failure| failure.within(format!("the longest line as number {number}")))?;
    }
    Ok(())
}

fn cr_lf_split_in_time(context: &Context) -> Outcome {
    let mut client = context.greeted()?;
    client.send(b"one\r")?;
    // Three times what a server would wait that gives a late LF up.
    client.expect_silence(Duration::from_secs(3))?;
    client.send(b"\n")?;
    client.expect(b"1: one\n")?;
    client.send(b"two\r\n")?;
    client.expect(b"2: two\n")?;
    client.expect_silence(PAUSE)
}

fn cr_lf_split_anywhere(context: &Context) -> Outcome {
    let input: Vec<u8> = (0..10_000).flat_map(|n| format!("line {n}\r\n").into_bytes()).collect();
    let expected = answer(&input).bytes;
    for round in 0..3 {
        let mut random = context.random(round);
        let mut client = context.connect()?;
        // Replies are read between the pieces, so that neither side's buffers fill up.
        let mut taken = 0;
        let mut sent = 0;
        for piece in random.cuts(&input, 40) {
            client.send(piece)?;
            sent += piece.len();
            if sent - taken > 16_384 {
                let complete = answer(&input[..sent]).bytes.len();
                client.expect(&expected[client.came_bytes()..complete])?;
                taken = sent;
            }
        }
        client.half_close()?;
        client.expect(&expected[client.came_bytes()..])?;
        client.expect_end()?;
    }
    Ok(())
}

fn tail_with_end_behind(context: &Context) -> Outcome {
    // Many lines in the same segment as the end: more replies than fit the output buffer.
    let many = [&b"a\n".repeat(2000)[..], b"tail"].concat();
    for input in [&b"a\nb\ntail"[..], b"a\nb\nquit", b"tail", b"\r", b"a\n\r", b"a\n", &many] {
        let mut client = context.connect()?;
        client.send_with_end(input)?;
        client.expect(&answer(input).bytes)?;
        client.expect_end()?;
    }
    Ok(())
}

fn nul_is_data(context: &Context) -> Outcome {
    let longest = vec![0; LONGEST_LINE_BYTES];
    let inputs: [Vec<u8>; 5] = [
        b"a\0b\n".to_vec(),
        b"\0\n\0\0\n".to_vec(),
        [&longest[..], b"\n"].concat(),
        [&longest[..], b"\0"].concat(),
        b"\0quit\nquit\0\n\0\r\n".to_vec(),
    ];
    for input in &inputs {
        converse(context, input, |client| client.send(input))?;
        converse(context, input, |client| client.send_pieces(input.chunks(1)))?;
    }
    Ok(())
}

fn every_byte_value(context: &Context) -> Outcome {
    let values = || (0..=255u8).filter(|&byte| byte != b'\n');
    let one_a_line: Vec<u8> = values().flat_map(|byte| [byte, b'x', b'\n']).collect();
    let all_in_one: Vec<u8> = values().chain([b'x', b'\n']).collect();
    let input = [&one_a_line[..], &all_in_one, b"and on\n"].concat();
    converse(context, &input, |client| client.send(&input))?;
    let mut random = context.random(0);
    converse(context, &input, |client| client.send_pieces(random.cuts(&input, 20)))
}

/// Random conversations against the model: the letters are those that mean something, and lengths lie around the limit.
fn any_bytes_in_any_cuts(context: &Context) -> Outcome {
    const CONVERSATIONS: u64 = 150;
    for round in 0..CONVERSATIONS {
        let mut random = context.random(round);
        let mut input = Vec::new();
        while input.len() < 12_000 {
            match random.below(12) {
                0 => input.extend(vec![b'a'; LONGEST_LINE_BYTES - 3 + random.below(3)]),
                1 => input.extend(vec![b'\n'; random.below(300)]),
                2 => input.extend_from_slice([&b"quit"[..], b"qui", b"quit\r\r\n", b"\rquit\n"][random.below(4)]),
                // Rarely, so that most conversations are long.
                3 if random.below(20) == 0 => input.extend_from_slice(b"\nquit\n"),
                _ => {
                    for _ in 0..random.below(60) {
                        input.push(b"\n\n\r\0ab\xffq"[random.below(8)]);
                    }
                    input.push(b'\n');
                }
            }
        }
        let longest = [1, 10, 200, 5000][random.below(4)].min(input.len());
        // A cut of one byte each would take most of the time of all: only for the beginning.
        let input = if longest == 1 { &input[..3000] } else { &input[..] };
        converse(context, input, |client| client.send_pieces(random.cuts(input, longest)))
            .map_err(|failure: NotPassed| failure.within(format!("conversation {round}")))?;
    }
    Ok(())
}
