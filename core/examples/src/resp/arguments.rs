//! The arguments of one request.

/// Bytes of a request's memory that are kept for the next one; an idle connection costs no more than this.
const KEPT_BYTES: usize = 512;

/// Bytes of the length that stands before an argument.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Arguments that came already, one behind the other in one piece of memory that is used again for the next request.
#[derive(Debug, Default)]
pub struct Stored {
    /// Of each argument its length, then its bytes.
    bytes: Vec<u8>,
}

impl Stored {
    /// Bytes that are stored.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Memory that is held.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Keeps a whole argument.
    #[inline]
    pub fn push(&mut self, argument: &[u8]) {
        self.begin(argument.len());
        self.extend(argument);
    }

    /// Begins an argument of so many bytes, which come by and by. Memory is taken when they come.
    #[inline]
    pub fn begin(&mut self, bytes: usize) {
        self.bytes.extend_from_slice(&(bytes as u32).to_le_bytes());
    }

    /// The next bytes of the argument that was begun.
    #[inline]
    pub fn extend(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// Takes the last two bytes off. Says whether they are CR LF.
    pub fn strip_line_end(&mut self) -> bool {
        let ends = self.bytes.ends_with(b"\r\n");
        self.bytes.truncate(self.bytes.len().saturating_sub(2));
        ends
    }

    /// All of them, and one more behind them that was not copied.
    #[inline]
    pub fn and<'a>(&'a self, last: Option<&'a [u8]>) -> Arguments<'a> {
        Arguments { stored: &self.bytes, last }
    }

    /// Forgets all of them, and gives back memory that an unusual request took.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}

/// Arguments in order, without a copy.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    stored: &'a [u8],
    last: Option<&'a [u8]>,
}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let Some((length, rest)) = self.stored.split_first_chunk::<LENGTH_BYTES>() else { return self.last.take() };
        let (argument, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.stored = rest;
        Some(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_out_in_order() {
        let mut stored = Stored::default();
        stored.push(b"SET");
        stored.push(b"");
        stored.begin(4);
        stored.extend(b"ab");
        stored.extend(b"cd\r\n");
        assert!(stored.strip_line_end());
        let expected: [&[u8]; 4] = [b"SET", b"", b"abcd", b"last"];
        assert!(stored.and(Some(b"last")).eq(expected));
        assert!(stored.and(None).eq(expected[..3].iter().copied()));
        assert!(Stored::default().and(None).next().is_none());
    }

    #[test]
    fn memory_of_a_large_request_is_given_back_and_that_of_a_small_one_kept() {
        let mut stored = Stored::default();
        stored.push(&[0; 100]);
        stored.clear();
        assert!((104..=KEPT_BYTES).contains(&stored.capacity()));
        stored.push(&[0; KEPT_BYTES]);
        stored.clear();
        assert_eq!(stored.capacity(), 0);
    }
}
