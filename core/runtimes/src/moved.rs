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
            _ => Io::Failed,
        },
    }
}
