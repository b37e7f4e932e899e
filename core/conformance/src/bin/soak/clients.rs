//! The clients: each is one connection or a few, and knows every byte that it is owed.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use evserver_conformance::{Client, DEADLINE, GREETING, NotPassed, Outcome, Random, ensure};

use crate::counts::Counted;

/// The server's limits, which the clients lean on.
pub const MAX_CONNECTIONS: usize = 24;
pub const IDLE: Duration = Duration::from_secs(10);

/// What the kernel's buffers between a client and the server may hold before the client is held back.
const KERNEL_BYTES: usize = 64 << 20;

/// One after the other, chosen at random, until the end.
pub struct Clients<'a> {
    pub address: SocketAddr,
    pub counted: &'a Counted,
    pub random: Random,
}

/// Lines to send, and what they are answered with.
struct Lines {
    sent: Vec<u8>,
    replies: Vec<u8>,
    count: usize,
}

impl Clients<'_> {
    /// Clients until `end`; the last of them may take a little longer.
    pub fn run(&mut self, end: Instant) -> Outcome {
        while Instant::now() < end {
            self.one()?;
        }
        Ok(())
    }

    /// A client of each kind, so that the server has met them all.
    pub fn each(&mut self) -> Outcome {
        for (name, client, _) in KINDS {
            client(self).map_err(|failed| failed.within(name))?;
        }
        Ok(())
    }

    fn one(&mut self) -> Outcome {
        let total: usize = KINDS.iter().map(|kind| kind.2).sum();
        let mut at = self.random.below(total);
        for (name, client, weight) in KINDS {
            if at < *weight {
                return client(self).map_err(|failed| failed.within(name));
            }
            at -= weight;
        }
        Ok(())
    }

    /// A client that was let in, or nothing if the server is full.
    fn let_in(&mut self, small_bytes: Option<usize>) -> Result<Option<Client>, NotPassed> {
        let mut client = match small_bytes {
            Some(bytes) => Client::connect_small(self.address, bytes)?,
            None => Client::connect(self.address)?,
        };
        if self.is_let_in(&mut client)? { Ok(Some(client)) } else { Ok(None) }
    }

    fn is_let_in(&mut self, client: &mut Client) -> Result<bool, NotPassed> {
        const FULL: &[u8] = b"server full\n";
        let mut first = [0];
        client.stream().set_read_timeout(Some(DEADLINE))?;
        client.stream().peek(&mut first).map_err(|error| client.failed(&format!("no greeting: {error}")))?;
        if first == FULL[..1] {
            client.expect(FULL)?;
            client.expect_end()?;
            Counted::count(&self.counted.refused);
            return Ok(false);
        }
        client.expect(GREETING)?;
        Counted::count(&self.counted.served);
        Ok(true)
    }

    fn lines(&mut self, from: usize, count: usize, longest: usize) -> Lines {
        let mut lines = Lines { sent: Vec::new(), replies: Vec::new(), count };
        for number in from..from + count {
            let length = self.random.below(longest + 1);
            // Any byte but those that end a line; `quit` has four, of which none is the first of these.
            let line: Vec<u8> = (0..length).map(|at| b'A' + ((number + at) % 26) as u8).collect();
            lines.sent.extend_from_slice(&line);
            lines.sent.push(b'\n');
            lines.replies.extend_from_slice(format!("{number}: ").as_bytes());
            lines.replies.extend_from_slice(&line);
            lines.replies.push(b'\n');
        }
        self.counted.came(lines.replies.len());
        lines
    }

    fn quits(&mut self, mut client: Client) -> Outcome {
        client.send(b"quit\n")?;
        client.expect(b"bye\n")?;
        client.expect_end()
    }
}

type Kind = fn(&mut Clients<'_>) -> Outcome;

/// Every kind, with how often it comes.
const KINDS: &[(&str, Kind, usize)] = &[
    ("a short visit", short, 60),
    ("a flood", flood, 6),
    ("a client that does not read for a while", slow_reader, 6),
    ("a client that never reads", never_reads, 4),
    ("a reset", reset, 12),
    ("a half-typed line", half_typed, 10),
    ("a half-close", half_close, 12),
    ("a line that is too long", too_long, 6),
    ("more clients than there may be", crowd, 2),
    ("a silent client", silent, 1),
];

fn short(clients: &mut Clients<'_>) -> Outcome {
    let Some(mut client) = clients.let_in(None)? else { return Ok(()) };
    let count = clients.random.below(6);
    for number in 1..=count {
        let line = clients.lines(number, 1, 200);
        client.exchange(&line.sent, &line.replies)?;
    }
    if clients.random.below(2) == 0 { clients.quits(client) } else { Ok(()) }
}

fn flood(clients: &mut Clients<'_>) -> Outcome {
    const LINES: usize = 3000;
    let Some(mut client) = clients.let_in(None)? else { return Ok(()) };
    let longest = [10, 200, 4000][clients.random.below(3)];
    let lines = clients.lines(1, LINES, longest);
    client.exchange(&lines.sent, &lines.replies)?;
    clients.quits(client)
}

/// Sends what it can without reading, then reads it all.
fn slow_reader(clients: &mut Clients<'_>) -> Outcome {
    const SMALL_BYTES: usize = 4096;
    const QUIET: Duration = Duration::from_millis(100);
    let Some(mut client) = clients.let_in(Some(SMALL_BYTES))? else { return Ok(()) };
    let line = b"abcdefgh\n";
    let sent = client.flood(line, QUIET, KERNEL_BYTES)?;
    client.widen()?;
    let whole = sent / line.len();
    let replies: String = (1..=whole).map(|number| format!("{number}: abcdefgh\n")).collect();
    clients.counted.came(replies.len());
    client.expect(replies.as_bytes())?;
    let rest = sent % line.len();
    client.exchange(&line[rest..], format!("{}: abcdefgh\n", whole + 1).as_bytes())?;
    clients.quits(client)
}

fn never_reads(clients: &mut Clients<'_>) -> Outcome {
    const SMALL_BYTES: usize = 4096;
    const QUIET: Duration = Duration::from_millis(100);
    let Some(mut client) = clients.let_in(Some(SMALL_BYTES))? else { return Ok(()) };
    client.flood(b"abcdefgh\n", QUIET, KERNEL_BYTES)?;
    Counted::count(&clients.counted.resets);
    // Unread replies make a reset of a close as well.
    if clients.random.below(2) == 0 { client.reset() } else { Ok(()) }
}

fn reset(clients: &mut Clients<'_>) -> Outcome {
    let Some(mut client) = clients.let_in(None)? else { return Ok(()) };
    let count = clients.random.below(50);
    let lines = clients.lines(1, count, 100);
    client.send(&lines.sent)?;
    if clients.random.below(2) == 0 {
        client.expect(&lines.replies)?;
    }
    Counted::count(&clients.counted.resets);
    client.reset()
}

fn half_typed(clients: &mut Clients<'_>) -> Outcome {
    const PAUSE_MS: usize = 200;
    let Some(mut client) = clients.let_in(None)? else { return Ok(()) };
    let lines = clients.lines(1, 3, 3000);
    let pieces: Vec<Vec<u8>> = clients.random.cuts(&lines.sent, 2000).into_iter().map(<[u8]>::to_vec).collect();
    let pause = Duration::from_millis(clients.random.below(PAUSE_MS) as u64) / lines.count as u32;
    for piece in &pieces {
        client.send(piece)?;
        std::thread::sleep(pause);
    }
    client.expect(&lines.replies)?;
    client.send(b"a tail that is no line")?;
    // It leaves like that, one way or the other.
    if clients.random.below(2) == 0 {
        client.half_close()?;
        client.expect_end()?;
    }
    Ok(())
}

fn half_close(clients: &mut Clients<'_>) -> Outcome {
    let Some(mut client) = clients.let_in(None)? else { return Ok(()) };
    let count = clients.random.below(300);
    let lines = clients.lines(1, count, 300);
    client.while_sending(&lines.sent, |client| client.expect(&lines.replies))?;
    client.half_close()?;
    client.expect_end()
}

fn too_long(clients: &mut Clients<'_>) -> Outcome {
    const TOO_LONG_BYTES: usize = 4096;
    let Some(mut client) = clients.let_in(None)? else { return Ok(()) };
    client.send(&[b'x'; TOO_LONG_BYTES])?;
    client.expect(b"line too long\n")?;
    client.expect_end()
}

/// More than the limit, all at once: some are told so.
fn crowd(clients: &mut Clients<'_>) -> Outcome {
    const MORE: usize = MAX_CONNECTIONS + 8;
    let mut connected = Vec::new();
    for _ in 0..MORE {
        connected.push(Client::connect(clients.address)?);
    }
    let mut served = Vec::new();
    for mut client in connected {
        if clients.is_let_in(&mut client)? {
            served.push(client);
        }
    }
    ensure!(served.len() <= MAX_CONNECTIONS, "{} clients are served at a time", served.len());
    for client in &mut served {
        let line = clients.lines(1, 1, 100);
        client.exchange(&line.sent, &line.replies)?;
    }
    served.into_iter().try_for_each(|client| clients.quits(client))
}

/// Says nothing until it is told to go by an end.
fn silent(clients: &mut Clients<'_>) -> Outcome {
    let Some(mut client) = clients.let_in(None)? else { return Ok(()) };
    let start = Instant::now();
    client.expect_end()?;
    ensure!(start.elapsed() + Duration::from_millis(1000) >= IDLE, "silence ended after {:?}", start.elapsed());
    Counted::count(&clients.counted.timed_out);
    Ok(())
}
