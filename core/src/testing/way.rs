//! The ways in which a conversation can be cut.

/// One way to replay a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// How the input is cut into receives.
    pub cuts: Cuts,
    /// The most bytes that a send takes.
    pub write: usize,
}

/// How an input is cut. A piece that is longer than the space for it is cut there as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// As little as the buffer allows.
    Whole,
    /// In two, so many bytes from its beginning.
    At(usize),
    /// Into pieces of so many bytes.
    Every(usize),
    /// At random, and so are the sizes of sends: small pieces as often as large ones. The same for the same number.
    Random(u32),
}

impl core::fmt::Display for Way {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.cuts {
            Cuts::Whole => f.write_str("all in one piece")?,
            Cuts::At(place) => write!(f, "cut behind byte {place}")?,
            Cuts::Every(1) => f.write_str("byte by byte")?,
            Cuts::Every(bytes) => write!(f, "in pieces of {bytes} bytes")?,
            Cuts::Random(number) => return write!(f, "at random, number {number}"),
        }
        match self.write {
            usize::MAX => f.write_str(", written whole"),
            bytes => write!(f, ", written {bytes} bytes at a time"),
        }
    }
}

/// The sizes of a way, one after the other.
pub(super) struct Sizes {
    way: Way,
    /// State of the xorshift generator; never 0.
    state: u64,
}

impl Sizes {
    pub fn new(way: Way) -> Self {
        let seed = match way.cuts {
            Cuts::Random(number) => u64::from(number) + 1,
            Cuts::Whole | Cuts::At(_) | Cuts::Every(_) => 1,
        };
        // Spreads small numbers over all bits; an odd factor maps nothing but 0 to 0.
        Self { way, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    /// Bytes of the next receive, at least 1, when `received` were received before.
    pub fn receive(&mut self, received: usize) -> usize {
        match self.way.cuts {
            Cuts::At(place) if received < place => place - received,
            Cuts::Whole | Cuts::At(_) => usize::MAX,
            Cuts::Every(bytes) => bytes.max(1),
            Cuts::Random(_) => self.random(),
        }
    }

    /// The most bytes of the next send, at least 1.
    pub fn send(&mut self) -> usize {
        match self.way.cuts {
            Cuts::Random(_) => self.random(),
            Cuts::Whole | Cuts::At(_) | Cuts::Every(_) => self.way.write.max(1),
        }
    }

    /// 1 to 8192, with small sizes as likely as large ones.
    fn random(&mut self) -> usize {
        let bits = self.next() % 14;
        1 + (self.next() % (1 << bits)) as usize
    }

    /// Marsaglia's xorshift with shifts 13, 7, 17.
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 11
    }
}
