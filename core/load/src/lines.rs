//! The lines that are sent: cheap to make, cheap to check, and different from each other.

/// Start positions in the pool; a power of two, so that the remainder is a mask.
const STARTS: usize = 1 << 14;

/// The longest line that the protocol takes, without its LF.
pub const LINE_BYTES_MAX: usize = 4095;

/// Any fixed number does: the lines are the same in every run, so that a failure can be repeated.
const SEED: u64 = 0x6c69_6e65;

/// Which bytes occur in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Printable ASCII, for servers that insist on text.
    Text,
    /// Every byte value that a line can carry: NUL and bytes that are not UTF-8 too.
    Binary,
}

/// All lines of a run, as windows into one pool of random bytes.
///
/// A line's place in the pool follows from its connection and number, so that a reply that belongs to another
/// connection or another line differs from the one that is due, and nothing has to be remembered.
#[derive(Debug)]
pub struct Lines {
    pool: Vec<u8>,
    line_bytes: usize,
}

impl Lines {
    /// Lines of `line_bytes` bytes each, the LF not counted.
    pub fn new(line_bytes: usize, alphabet: Alphabet) -> Self {
        let mut random = fastrand::Rng::with_seed(SEED);
        let legal: Vec<u8> = (0..=u8::MAX).filter(|&byte| is_legal(byte, alphabet)).collect();
        let pool = (0..STARTS + line_bytes).map(|_| legal[random.usize(..legal.len())]).collect();
        Lines { pool, line_bytes }
    }

    /// Bytes of a line, the LF not counted.
    pub fn line_bytes(&self) -> usize {
        self.line_bytes
    }

    /// Line `number` (from 1) of `connection`, without its LF.
    pub fn line(&self, connection: u64, number: u64) -> &[u8] {
        // Two odd steps: neighbours in either direction start far apart, and every start is used in turn.
        let mixed = connection.wrapping_mul(7919).wrapping_add(number.wrapping_mul(61));
        let start = mixed as usize & (STARTS - 1);
        &self.pool[start..start + self.line_bytes]
    }
}

/// LF ends a line and a last CR is not part of it; without `q` no line can be `quit`.
fn is_legal(byte: u8, alphabet: Alphabet) -> bool {
    let plain = !matches!(byte, b'\n' | b'\r' | b'q');
    plain && (alphabet == Alphabet::Binary || matches!(byte, b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ_and_repeat() {
        let lines = Lines::new(8, Alphabet::Text);
        let again = Lines::new(8, Alphabet::Text);
        assert_ne!(lines.line(0, 1), lines.line(0, 2));
        assert_ne!(lines.line(0, 1), lines.line(1, 1));
        assert_eq!(lines.line(5, 9), again.line(5, 9));
        assert_eq!(lines.line(u64::MAX, u64::MAX).len(), 8);
    }

    #[test]
    fn no_byte_ends_or_changes_a_line() {
        for alphabet in [Alphabet::Text, Alphabet::Binary] {
            let lines = Lines::new(LINE_BYTES_MAX, alphabet);
            assert!(!lines.pool.iter().any(|byte| b"\n\rq".contains(byte)));
        }
        let binary = Lines::new(LINE_BYTES_MAX, Alphabet::Binary);
        for byte in (0..=u8::MAX).filter(|byte| !b"\n\rq".contains(byte)) {
            assert!(binary.pool.contains(&byte), "byte {byte} never occurs");
        }
        let text = Lines::new(100, Alphabet::Text);
        assert!(text.pool.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' '));
    }
}
