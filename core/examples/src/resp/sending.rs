//! A bulk that is larger than the room for it.

use std::sync::Arc;

use evserver_core::{Next, Reply};

/// A value on its way out, in pieces, through a buffer that is smaller. It stays the same although its key may be given
/// another value meanwhile.
#[derive(Debug)]
pub struct Sending {
    value: Arc<[u8]>,
    /// Bytes of the header, the value and the line end that were written.
    written: usize,
}

impl Sending {
    /// From the beginning.
    pub fn new(value: Arc<[u8]>) -> Self {
        Self { value, written: 0 }
    }

    /// Writes what fits. [`Next::Line`] when that was the rest, else [`Next::More`].
    pub fn go_on(&mut self, reply: &mut Reply<'_>) -> Next {
        let mut digits = itoa::Buffer::new();
        let parts: [&[u8]; 5] = [b"$", digits.format(self.value.len()).as_bytes(), b"\r\n", &self.value, b"\r\n"];
        let mut before = 0;
        for part in parts {
            let rest = part.get(self.written.saturating_sub(before)..).unwrap_or(b"");
            let fits = reply.put_some(rest);
            self.written += fits;
            if fits < rest.len() {
                return Next::More;
            }
            before += part.len();
        }
        Next::Line
    }
}
