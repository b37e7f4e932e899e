//! What a transfer of the standard library's kind came to.

use std::io::{self, ErrorKind};

use evserver_core::Io;

/// How a non-blocking transfer of so many bytes turned out. A receive of 0 bytes is the end, which the caller knows.
pub fn moved(result: io::Result<usize>) -> Io {
    match result {
        Ok(n) => Io::Moved(n),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock => Io::WouldBlock,
            ErrorKind::Interrupted => Io::Interrupted,
            // A shortage of memory (ENOMEM, ENOBUFS) too: TCP itself waits for it as it waits for room, and then the poller
            // tells. Of any other it knows nothing and would end each wait at once.
            _ => Io::Failed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_is_tried_again() {
        let failed = |kind: ErrorKind| moved(Err(kind.into()));
        assert_eq!(failed(ErrorKind::WouldBlock), Io::WouldBlock);
        assert_eq!(failed(ErrorKind::Interrupted), Io::Interrupted);
        for kind in [
            ErrorKind::ConnectionReset,
            ErrorKind::BrokenPipe,
            ErrorKind::TimedOut,
            ErrorKind::NotConnected,
            ErrorKind::OutOfMemory,
        ] {
            assert_eq!(failed(kind), Io::Failed);
        }
    }
}
