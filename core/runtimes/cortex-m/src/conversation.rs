//! The conversations, as `build.rs` made them of the transcripts.

/// Some bytes, several times over.
pub struct Run {
    pub unit: &'static [u8],
    pub times: usize,
}

/// What a peer sends and exactly what it must get.
pub struct Conversation {
    pub name: &'static str,
    pub sent: &'static [Run],
    pub expected: &'static [Run],
    /// The peer ends its stream only when the server has ended its own.
    pub server_ends_first: bool,
}

/// All of them.
pub const ALL: &[Conversation] = include!(concat!(env!("OUT_DIR"), "/conversations.rs"));

/// The number of bytes in some runs.
pub fn length(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.unit.len() * run.times).sum()
}

/// Goes through the bytes of some runs.
pub struct Bytes {
    runs: &'static [Run],
    /// Bytes of the first run that are behind us.
    passed: usize,
}

impl Bytes {
    pub fn of(runs: &'static [Run]) -> Bytes {
        Bytes { runs, passed: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Copies the next bytes; says how many there were.
    pub fn copy_to(&mut self, mut space: &mut [u8]) -> usize {
        let mut copied = 0;
        while let Some((unit, n)) = self.next_stretch(space.len()) {
            let (place, rest) = space.split_at_mut(n);
            match unit {
                [byte] => place.fill(*byte),
                _ => place.iter_mut().zip(unit.iter().cycle()).for_each(|(place, byte)| *place = *byte),
            }
            copied += n;
            space = rest;
        }
        copied
    }

    /// Says how many of `bytes` are the next bytes, and goes on behind those.
    pub fn skip_equal(&mut self, mut bytes: &[u8]) -> usize {
        let mut equal = 0;
        while let Some((unit, n)) = self.next_stretch(bytes.len()) {
            let (stretch, rest) = bytes.split_at(n);
            let differs = match unit {
                [byte] => stretch.iter().position(|other| other != byte),
                _ => stretch.iter().zip(unit.iter().cycle()).position(|(other, byte)| other != byte),
            };
            equal += differs.unwrap_or(n);
            if differs.is_some() {
                break;
            }
            bytes = rest;
        }
        equal
    }

    /// At most `most` bytes of one run, as what to repeat; `None` when none are wanted or left.
    fn next_stretch(&mut self, most: usize) -> Option<(&'static [u8], usize)> {
        let (run, rest) = self.runs.split_first()?;
        let left = run.unit.len() * run.times - self.passed;
        // In the middle of a round only the rest of that round.
        let unit = run.unit.get(self.passed % run.unit.len()..)?;
        let n = if unit.len() < run.unit.len() || run.times == 1 { unit.len() } else { left }.min(most);
        self.passed += n;
        if n == left {
            (self.runs, self.passed) = (rest, 0);
        }
        (n > 0).then_some((unit, n))
    }
}
