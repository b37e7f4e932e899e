//! What the clients counted, and what the server says.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counted by all clients together.
#[derive(Debug, Default)]
pub struct Counted {
    /// Connections that were greeted.
    pub served: AtomicU64,
    /// Connections that were told that the server is full.
    pub refused: AtomicU64,
    /// Connections that were silent until the server ended them.
    pub timed_out: AtomicU64,
    /// Connections that the client ended by a reset.
    pub resets: AtomicU64,
    /// Bytes of replies, each compared.
    pub bytes: AtomicU64,
}

impl Counted {
    /// One more.
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// So many bytes more.
    pub fn came(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// The server's line of counts, as far as clients can know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    pub open: u64,
    pub served: u64,
    pub peak: u64,
    pub refused: u64,
    pub timed_out: u64,
}

impl Said {
    /// `NAME: open 0, served 1, peak concurrent 1, refused 0, timed out 0, …`
    pub fn of(line: &str) -> Option<Said> {
        let (_, counts) = line.split_once(": ")?;
        let number = |name: &str| counts.split(", ").find_map(|part| part.strip_prefix(name)?.trim().parse().ok());
        Some(Said {
            open: number("open ")?,
            served: number("served ")?,
            peak: number("peak concurrent ")?,
            refused: number("refused ")?,
            timed_out: number("timed out ")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_counts_is_read() {
        let line =
            "evserver: open 1, served 22, peak concurrent 3, refused 4, timed out 5, failed 6, protocol panics 7";
        assert_eq!(Said::of(line), Some(Said { open: 1, served: 22, peak: 3, refused: 4, timed_out: 5 }));
        assert_eq!(Said::of("evserver: out of descriptors or memory; clients wait"), None);
    }
}
