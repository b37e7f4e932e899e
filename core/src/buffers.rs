//! The two byte buffers of a busy connection.

#[cfg(test)]
pub(crate) mod tally;

/// Bytes of each buffer, unless a type parameter says otherwise: the longest line with its newline, and a page.
pub const BUFFER_BYTES: usize = 4096;

/// An input and an output buffer of `N` bytes each.
///
/// A connection holds them only while a line is half received or a reply is unsent, so a server needs as many
/// pairs as it has *busy* connections. `N` is 4096 in practice; tests use 4 to 8 to explore every state.
///
/// ```text
///           start      searched        end          N
/// input  ┌────────────┬───────────────┬────────────┬┐
///        │  consumed  │ no newline in │ not yet    ││  received bytes go to end.., lines leave from start..
///        └────────────┴───────────────┴────────────┴┘
///                    start             end          N
/// output ┌────────────┬────────────────┬────────────┐
///        │    sent    │    pending     │    room    │  replies go to end.., sent bytes leave from start..
///        └────────────┴────────────────┴────────────┘
/// ```
///
/// `start <= end <= N` holds after every call; `start == end` resets both to 0.
#[derive(Clone, Debug)]
pub struct Buffers<const N: usize = BUFFER_BYTES> {
    pub(crate) input: Input<N>,
    pub(crate) output: Output<N>,
}

impl<const N: usize> Buffers<N> {
    /// Empty buffers. `const`, so that a microcontroller can keep them in a static.
    pub const fn new() -> Self {
        Self { input: Input { window: Window::new(), searched: 0 }, output: Output { window: Window::new() } }
    }

    /// Whether nothing is buffered either way.
    pub fn is_empty(&self) -> bool {
        self.input.window.is_empty() && self.output.window.is_empty()
    }

    /// Forgets everything that is buffered.
    pub fn clear(&mut self) {
        self.input.clear();
        self.output.clear();
    }
}

impl<const N: usize> Default for Buffers<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// `N` bytes of which `start..end` are filled.
///
/// Indices are `u32` so that they cost 16 bytes a pair of buffers; `N` never comes near four gigabytes.
#[derive(Clone, Debug)]
struct Window<const N: usize> {
    start: u32,
    end: u32,
    bytes: [u8; N],
}

impl<const N: usize> Window<N> {
    const N_FITS: () = assert!(N > 0 && N <= u32::MAX as usize, "a buffer has 1 to 4 Gi bytes");

    const fn new() -> Self {
        let () = Self::N_FITS;
        Self { start: 0, end: 0, bytes: [0; N] }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    #[inline]
    fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    #[inline]
    fn room(&self) -> usize {
        N - self.end as usize
    }

    #[inline]
    fn filled(&self) -> &[u8] {
        self.bytes.get(self.start as usize..self.end as usize).unwrap_or(&[])
    }

    #[inline]
    fn free(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end as usize..).unwrap_or(&mut [])
    }

    /// Counts `n` bytes of the free space as filled; more than there is counts as all of it.
    #[inline]
    fn fill(&mut self, n: usize) {
        self.end += n.min(self.room()) as u32;
    }

    /// Takes `n` bytes from the front; more than there are counts as all of them.
    #[inline]
    fn consume(&mut self, n: usize) {
        self.start += n.min(self.len()) as u32;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }
}

/// Received bytes that are not yet lines.
#[derive(Clone, Debug)]
pub(crate) struct Input<const N: usize> {
    window: Window<N>,
    /// Bytes from `start` that hold no newline: the next search begins behind them.
    searched: u32,
}

impl<const N: usize> Input<N> {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Whether the whole buffer is one unfinished line.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.window.len() == N
    }

    /// Whether it holds something and all of that was searched: no newline is in it.
    #[inline]
    pub fn is_part_of_line(&self) -> bool {
        let len = self.len();
        len > 0 && self.searched as usize == len
    }

    #[inline]
    pub fn filled(&self) -> &[u8] {
        self.window.filled()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Where to receive to. Never empty unless the buffer is full of one line.
    ///
    /// The rest of a line moves to the front when it is no longer than what was consumed before it, or when
    /// there is no room behind it. So no more bytes are ever moved than were received.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        let Window { start, end, .. } = self.window;
        if start > 0 && (end - start <= start || end as usize == N) {
            self.window.bytes.copy_within_checked(start as usize, end as usize);
            #[cfg(test)]
            tally::moved((end - start) as usize);
            self.window.start = 0;
            self.window.end = end - start;
        }
        self.window.free()
    }

    #[inline]
    pub fn fill(&mut self, n: usize) {
        self.window.fill(n);
    }

    #[inline]
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.window.len());
        self.window.consume(n);
        self.searched = self.searched.saturating_sub(n as u32);
    }

    /// The number of bytes before the next `end_of_line`, if there is one.
    #[inline]
    pub fn find(&mut self, end_of_line: u8) -> Option<usize> {
        let (bytes, searched) = self.unread();
        let found = find(end_of_line, bytes, searched);
        self.searched(found.unwrap_or(self.len()));
        found
    }

    /// What is filled, and how many of the first bytes of it need not be searched.
    #[inline]
    pub fn unread(&self) -> (&[u8], usize) {
        (self.filled(), self.searched as usize)
    }

    /// The first `n` bytes were searched. They are not searched again: after a miss the search goes on behind them,
    /// and a line that was found and had to wait is found again at once.
    #[inline]
    pub fn searched(&mut self, n: usize) {
        self.searched = n.min(self.window.len()) as u32;
    }

    pub fn clear(&mut self) {
        self.consume(usize::MAX);
    }
}

/// Where `end_of_line` is in `bytes`, of which the first `searched` do not hold it.
#[inline]
pub(crate) fn find(end_of_line: u8, bytes: &[u8], searched: usize) -> Option<usize> {
    match bytes.get(searched..) {
        None | Some([]) => None,
        Some(unsearched) => {
            let found = memchr::memchr(end_of_line, unsearched);
            #[cfg(test)]
            tally::searched(found.map_or(unsearched.len(), |at| at + 1));
            found.map(|at| searched + at)
        }
    }
}

/// Replies that were not sent yet.
#[derive(Clone, Debug)]
pub(crate) struct Output<const N: usize> {
    window: Window<N>,
}

impl<const N: usize> Output<N> {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.window.filled()
    }

    /// Bytes that can still be written before something is sent. What was sent in part gives its room back only
    /// when all of it is gone: replies wait for that moment anyway, and nothing is ever moved.
    #[inline]
    pub fn room(&self) -> usize {
        self.window.room()
    }

    /// Where replies are written to; [`Output::fill`] says how much was.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        self.window.free()
    }

    #[inline]
    pub fn fill(&mut self, n: usize) {
        self.window.fill(n);
    }

    /// Appends all of `bytes`, or nothing and `false`.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        match self.window.free().get_mut(..bytes.len()) {
            Some(space) => {
                space.copy_from_slice(bytes);
                self.window.fill(bytes.len());
                true
            }
            None => false,
        }
    }

    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.window.consume(n);
    }

    pub fn clear(&mut self) {
        self.consume(usize::MAX);
    }
}

/// `copy_within` that has no panic path: a range that does not exist moves nothing.
trait CopyWithinChecked {
    fn copy_within_checked(&mut self, start: usize, end: usize);
}

impl CopyWithinChecked for [u8] {
    #[inline]
    fn copy_within_checked(&mut self, start: usize, end: usize) {
        if start <= end && end <= self.len() {
            self.copy_within(start..end, 0);
        }
    }
}

#[cfg(test)]
mod tests;
