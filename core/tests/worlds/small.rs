//! Every small world: all inputs, all cuts, all paces of draining, the peer's end and a timeout at every point.

use evserver_core::{Action, Buffers, CloseReason, Connection, Limits, Next, Protocol, Reply, Time};

use crate::framing::converse;
use crate::model::{Said, Words, model};

/// The numbered echo with short words, so that a line that closes fits the smallest buffers.
#[derive(Clone, Default)]
struct Tiny {
    lines: u64,
    written: usize,
}

const TINY: Words = Words { greeting: b"r\n", quit: b"q", goodbye: b"b\n", too_long: b"too long\n", reply };

fn reply(number: u64, line: &[u8]) -> Vec<u8> {
    [&[b'0' + (number % 10) as u8], line, b"\n"].concat()
}

impl Tiny {
    fn say(&mut self, text: &[u8], then: Next, reply: &mut Reply<'_>) -> Next {
        self.written += reply.put_some(&text[self.written..]);
        if self.written < text.len() {
            return Next::More;
        }
        self.written = 0;
        then
    }
}

impl Protocol for Tiny {
    fn room(&self, len: usize) -> usize {
        len + 2
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(TINY.greeting, Next::Line, reply)
    }

    fn line(&mut self, line: &[u8], out: &mut Reply<'_>) -> Next {
        if line == TINY.quit {
            return self.say(TINY.goodbye, Next::Close, out);
        }
        let next = self.say(&reply(self.lines + 1, line), Next::Line, out);
        self.lines += u64::from(next == Next::Line);
        next
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(TINY.too_long, Next::Close, reply)
    }
}

/// The bytes that matter: data, the letter that closes, both halves of a line's end, NUL.
const ALPHABET: [u8; 5] = *b"aq\r\n\0";

/// Longest inputs, usually and when asked for more.
fn longest() -> u32 {
    if std::env::var("EVSERVER_WORLDS").is_ok_and(|size| size == "large") { 8 } else { 5 }
}

/// Every word of a length over the alphabet.
fn words(length: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..ALPHABET.len().pow(length)).map(move |mut number| {
        let mut word = vec![0; length as usize];
        for byte in &mut word {
            *byte = ALPHABET[number % ALPHABET.len()];
            number /= ALPHABET.len();
        }
        word
    })
}

/// Every way to cut so many bytes, as sizes of receives.
fn cuts(length: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1usize << length.saturating_sub(1)).map(move |bits| {
        let mut sizes = vec![1];
        for at in 1..length {
            if bits >> (at - 1) & 1 == 1 {
                sizes.push(1);
            } else if let Some(last) = sizes.last_mut() {
                *last += 1;
            }
        }
        sizes
    })
}

fn all_of<const N: usize>() -> u64 {
    let mut runs = 0;
    for length in 0..=longest() {
        for input in words(length) {
            for ended in [false, true] {
                let expected = model(&TINY, N, &input, ended);
                for receives in cuts(input.len()) {
                    for sends in [&[1][..], &[2, 1], &[usize::MAX]] {
                        let said = converse::<_, N>(Tiny::default(), &input, ended, &receives, sends);
                        assert_eq!(said, expected, "{:?} cut {receives:?}, sent {sends:?}", input.escape_ascii());
                        runs += 1;
                    }
                }
            }
        }
    }
    runs
}

#[test]
fn every_input_in_every_cut_at_every_pace() {
    let runs = all_of::<4>() + all_of::<5>() + all_of::<6>() + all_of::<8>();
    println!("{runs} worlds");
    assert!(runs > 1_000_000);
}

/// How a connection can be interrupted between two bytes.
#[derive(Clone, Copy, Debug)]
enum Interruption {
    PeerEnd,
    IdleTimeout,
    Drain,
    Failure,
}

/// After any prefix, with any amount of the output taken: the end comes, it is the right one, and what was said until
/// then is a beginning of what the model says.
#[test]
fn the_end_at_every_point() {
    let mut runs = 0;
    for length in 0..=longest() {
        for input in words(length) {
            for at in 0..=input.len() {
                for interruption in
                    [Interruption::PeerEnd, Interruption::IdleTimeout, Interruption::Drain, Interruption::Failure]
                {
                    interrupted::<5>(&input[..at], interruption);
                    runs += 1;
                }
            }
        }
    }
    println!("{runs} ends");
}

fn interrupted<const N: usize>(input: &[u8], interruption: Interruption) {
    let start = Time::from_ms(0);
    let limits = Limits { idle_ms: 100, ..Limits::new() };
    let mut connection: Connection<_, Box<Buffers<N>>, N> = Connection::new(Tiny::default(), &limits, start);
    connection.lend(Box::default(), start);
    let (mut output, mut rest) = (Vec::new(), input);
    // Output leaves by one byte at a time and stops when the input is used up: some of it is usually pending.
    while let (Action::Send | Action::Receive, false) = (connection.action(), rest.is_empty()) {
        take_one(&mut connection, &mut output, &mut rest, start);
    }
    let pending = !connection.transmit().is_empty();
    let open = !matches!(connection.action(), Action::ShutdownWrite | Action::Close(_));
    let model_closes = model(&TINY, N, input, false).closed.is_some();
    let expected = match interruption {
        Interruption::PeerEnd => {
            connection.received_end(start);
            model(&TINY, N, input, true).closed
        }
        Interruption::IdleTimeout => {
            connection.handle_timeout(start.after(99));
            assert!(!matches!(connection.action(), Action::Close(_)), "a limit that is not over acted");
            connection.handle_timeout(start.after(100));
            open.then_some(CloseReason::IdleTimeout)
        }
        Interruption::Drain => {
            connection.drain();
            while connection.action() == Action::Send {
                take_one(&mut connection, &mut output, &mut rest, start);
            }
            connection.drained(start);
            Some(if model_closes { CloseReason::Protocol } else { CloseReason::Drained })
        }
        Interruption::Failure => {
            connection.failed();
            open.then_some(CloseReason::Failed)
        }
    };
    while !matches!(connection.action(), Action::Close(_)) {
        match connection.action() {
            Action::Send => take_one(&mut connection, &mut output, &mut rest, start),
            Action::ShutdownWrite => connection.write_shut(start),
            // Its side is shut, or it was closed before the interruption and lingers.
            Action::Receive => connection.received_end(start),
            other => panic!("{other:?} after {interruption:?}"),
        }
    }
    let Action::Close(reason) = connection.action() else { unreachable!() };
    if let Some(expected) = expected {
        assert_eq!(reason, expected, "{:?}, {interruption:?}, pending: {pending}", input.escape_ascii());
    }
    let Said { output: all, .. } = model(&TINY, N, input, true);
    assert!(all.starts_with(&output), "{:?}: {:?}", input.escape_ascii(), output.escape_ascii());
    if matches!(interruption, Interruption::PeerEnd | Interruption::Drain) {
        assert_eq!(output, all, "{:?}: a reply is missing", input.escape_ascii());
    }
}

/// Sends one byte, or receives one.
fn take_one<const N: usize>(
    connection: &mut Connection<Tiny, Box<Buffers<N>>, N>,
    output: &mut Vec<u8>,
    rest: &mut &[u8],
    now: Time,
) {
    if connection.action() == Action::Send {
        output.push(connection.transmit()[0]);
        connection.transmitted(1, now);
    } else if let Some((&byte, behind)) = rest.split_first() {
        connection.receive_space()[0] = byte;
        connection.received(1, now);
        *rest = behind;
    }
}
