//! Random numbers that a printed seed repeats.

/// A small generator (splitmix64): good enough to choose where to cut, and the same on every machine.
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; the bias is far too small to matter here. `bound` must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }

    /// Cuts `bytes` into pieces of random lengths up to `longest`, small ones as often as large ones.
    pub fn cuts<'a>(&mut self, mut bytes: &'a [u8], longest: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let ceiling = 1 + self.below(longest);
            let length = (1 + self.below(ceiling)).min(bytes.len());
            let (piece, rest) = bytes.split_at(length);
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_lose_nothing_and_repeat() {
        let bytes: Vec<u8> = (0..=255).collect();
        let pieces = Random::new(7).cuts(&bytes, 10);
        assert_eq!(pieces.concat(), bytes);
        assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= 10));
        assert!(pieces.len() > 25);
        assert_eq!(pieces, Random::new(7).cuts(&bytes, 10));
        assert_ne!(pieces, Random::new(8).cuts(&bytes, 10));
    }
}
