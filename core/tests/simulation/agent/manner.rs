//! How clients behave.

use crate::random::Random;

/// Kinds of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sends a line, waits for its answer, thinks.
    Polite,
    /// Sends many lines at a time.
    Batch,
    /// Sends as much as it can, and reads as fast.
    Flooder,
    /// Sends as much as it can and reads nothing for a long time, or ever.
    NonReader,
    /// Reads a few bytes at a time.
    SlowReader,
    /// Sends a byte at a time, with pauses.
    Dribbler,
    /// Says nothing.
    Silent,
    /// Sends a line that is too long, and more.
    TooLong,
    /// Quits, sends more, and takes its time to leave.
    Clinger,
    /// Resets the connection in the middle of something.
    Resetter,
    /// Closes the connection in the middle of something.
    Closer,
    /// Asks what is answered from elsewhere.
    Asker,
    /// Has its protocol panic, if protocols do.
    Panicker,
}

impl Kind {
    pub const ALL: [Self; 13] = [
        Self::Polite,
        Self::Batch,
        Self::Flooder,
        Self::NonReader,
        Self::SlowReader,
        Self::Dribbler,
        Self::Silent,
        Self::TooLong,
        Self::Clinger,
        Self::Resetter,
        Self::Closer,
        Self::Asker,
        Self::Panicker,
    ];
}

/// How a client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Says `quit`.
    Quit,
    /// Ends its stream and reads to the end.
    End,
    /// Sends a line that is too long.
    TooLong,
    /// Says nothing more.
    Silence,
    /// Closes without reading the rest.
    Close,
    Reset,
}

/// What makes a kind.
#[derive(Debug)]
pub struct Manner {
    /// Bytes of lines that are still to be sent.
    bytes_left: u64,
    /// Bytes of lines that are put together at a time.
    burst_bytes: u64,
    longest: u64,
    /// The next burst waits for the answers to this one.
    pub in_turns: bool,
    /// Its latency counts.
    pub is_quick: bool,
    /// Lines in a thousand that are answered from elsewhere.
    asks: u64,
    panics: bool,
    pub write_bytes: u64,
    pub read_bytes: usize,
    /// Microseconds between two steps.
    pub pace_us: u64,
    /// Nothing is read before.
    pub reads_after_us: u64,
    pub finish: Finish,
    /// Bytes that are sent behind the last line.
    trailing_bytes: u64,
    /// Bytes received by the server after which it leaves.
    pub leaves_after: u64,
    /// How long it stays behind the server's end.
    pub clings_us: u64,
    finished: bool,
}

impl Manner {
    pub fn new(kind: Kind, flood_bytes: u64, idle_us: u64, buffer_bytes: usize, random: &mut Random) -> Self {
        let longest = buffer_bytes as u64 - 1;
        let mut manner = Self {
            bytes_left: random.spread(400),
            burst_bytes: 1,
            longest: random.pick(&[longest, longest.min(20), longest.min(5)]),
            in_turns: true,
            is_quick: false,
            asks: 0,
            panics: false,
            write_bytes: 1 << 20,
            read_bytes: 1 << 20,
            pace_us: random.spread(20_000),
            reads_after_us: 0,
            finish: random.pick(&[Finish::Quit, Finish::Quit, Finish::End]),
            trailing_bytes: 0,
            leaves_after: u64::MAX,
            clings_us: 0,
            finished: false,
        };
        match kind {
            Kind::Polite => manner.is_quick = true,
            Kind::Batch => {
                manner.bytes_left = random.spread(20_000);
                manner.burst_bytes = random.spread(manner.bytes_left);
            }
            Kind::Flooder => manner.flood(flood_bytes, random),
            Kind::NonReader => {
                manner.flood(flood_bytes, random);
                manner.reads_after_us = random.spread(idle_us * 2);
            }
            Kind::SlowReader => {
                manner.flood(flood_bytes.min(5_000), random);
                manner.read_bytes = random.within(1, 300) as usize;
                manner.pace_us = random.spread(idle_us / 2);
            }
            Kind::Dribbler => {
                manner.write_bytes = 1;
                manner.bytes_left = random.spread(40);
                manner.in_turns = false;
                manner.pace_us = random.spread(idle_us * 9 / 10);
            }
            Kind::Silent => {
                manner.bytes_left = 0;
                manner.finish = Finish::Silence;
            }
            Kind::TooLong => {
                manner.finish = Finish::TooLong;
                manner.trailing_bytes = random.spread(10_000);
                manner.clings_us = random.spread(4_000_000);
            }
            Kind::Clinger => {
                manner.finish = Finish::Quit;
                manner.trailing_bytes = random.spread(30_000);
                manner.reads_after_us = random.spread(500_000);
                manner.clings_us = random.spread(4_000_000);
            }
            Kind::Resetter | Kind::Closer => {
                manner.flood(random.spread(20_000), random);
                manner.leaves_after = random.spread(20_000);
                manner.finish = if kind == Kind::Closer { Finish::Close } else { Finish::Reset };
                manner.reads_after_us = random.pick(&[0, 0, 1_000, 1_000_000]);
            }
            Kind::Asker => manner.asks = 300,
            Kind::Panicker => manner.panics = true,
        }
        manner
    }

    fn flood(&mut self, bytes: u64, random: &mut Random) {
        self.bytes_left = bytes;
        self.burst_bytes = 20_000;
        self.in_turns = false;
        self.pace_us = random.spread(200);
    }

    pub fn is_slow_reader(&self) -> bool {
        self.read_bytes < 1 << 20
    }

    /// Whether everything was said.
    pub fn is_done(&self) -> bool {
        self.finished
    }

    /// Puts the next lines together.
    pub fn next(&mut self, out: &mut Vec<u8>, random: &mut Random) {
        if self.bytes_left > 0 {
            let most = out.len() as u64 + self.burst_bytes.min(self.bytes_left);
            let before = out.len() as u64;
            while (out.len() as u64) < most {
                self.line(out, random);
            }
            self.bytes_left = self.bytes_left.saturating_sub(out.len() as u64 - before);
            return;
        }
        self.finished = true;
        match self.finish {
            Finish::Quit => out.extend(random.pick(&[&b"quit\n"[..], b"quit\r\n"])),
            Finish::TooLong => out.extend((0..=self.longest.max(4096)).map(|_| b'x')),
            Finish::End | Finish::Close | Finish::Reset => out.extend(random.pick(&[&b""[..], b"tail", b"tail\r"])),
            Finish::Silence => out.extend(random.pick(&[&b""[..], b"half a line"])),
        }
        if self.panics {
            out.splice(.., *b"!panic\n");
        }
        let trailing = self.trailing_bytes as usize;
        out.extend(b"quit\nmore\n".iter().cycle().take(trailing));
    }

    /// A line of any bytes, most often short, sometimes as long as a line can be.
    fn line(&self, out: &mut Vec<u8>, random: &mut Random) {
        let returns = random.one_in(4);
        let most = self.longest - u64::from(returns);
        let length = match random.below(20) {
            0 => most,
            1 => 0,
            _ => random.spread(most),
        };
        let start = out.len();
        if random.per_mille(self.asks) && length >= 6 {
            out.extend(b"!later");
        }
        while ((out.len() - start) as u64) < length {
            let mut eight = random.next();
            for _ in 0..8.min(length - (out.len() - start) as u64) {
                out.push(match eight as u8 {
                    b'\n' => b'.',
                    // Such a line would ask for something.
                    b'!' | b'q' if out.len() == start => b'?',
                    byte => byte,
                });
                eight >>= 8;
            }
        }
        if returns {
            out.push(b'\r');
        }
        out.push(b'\n');
    }
}
