//! What must come, what must not, and for how long a client waits.

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use super::{Client, DEADLINE};
use crate::bytes::{difference, show};
use crate::case::{NotPassed, Outcome};

impl Client {
    /// Expects exactly these bytes next, and takes no further one.
    ///
    /// # Errors
    /// At the first byte that differs, at an end or a reset, or when nothing has come for [`DEADLINE`].
    pub fn expect(&mut self, expected: &[u8]) -> Outcome {
        let mut got = Vec::with_capacity(expected.len());
        while got.len() < expected.len() {
            let mut block = [0; 65_536];
            let room = block.len().min(expected.len() - got.len());
            let from = got.len();
            let why = match self.read(&mut block[..room], Instant::now() + DEADLINE)? {
                Read1::Bytes(n) => {
                    got.extend_from_slice(&block[..n]);
                    if got[from..] == expected[from..got.len()] {
                        continue;
                    }
                    "other bytes came".to_string()
                }
                Read1::End => "the stream ended too early".to_string(),
                Read1::Reset => "the connection was reset".to_string(),
                Read1::Nothing => format!("nothing more came for {} s", DEADLINE.as_secs()),
            };
            return Err(self.failed(&format!("{why}\n    {}", difference(expected, &got))));
        }
        Ok(())
    }

    /// Expects the server's end of stream next: no byte, and no reset.
    ///
    /// # Errors
    /// When something else comes, or nothing within [`DEADLINE`].
    pub fn expect_end(&mut self) -> Outcome {
        let mut block = [0; 4096];
        let why = match self.read(&mut block, Instant::now() + DEADLINE)? {
            Read1::End => return Ok(()),
            Read1::Bytes(n) => format!("expected the end of the stream, came {}", show(&block[..n])),
            Read1::Reset => "expected the end of the stream, came a reset".to_string(),
            Read1::Nothing => format!("expected the end of the stream, nothing came for {} s", DEADLINE.as_secs()),
        };
        Err(self.failed(&why))
    }

    /// Expects that nothing comes for so long: no byte, no end.
    ///
    /// # Errors
    /// When something comes.
    pub fn expect_silence(&mut self, time: Duration) -> Outcome {
        let mut block = [0; 4096];
        let why = match self.read(&mut block, Instant::now() + time)? {
            Read1::Nothing => return Ok(()),
            Read1::Bytes(n) => format!("expected nothing, came {}", show(&block[..n])),
            Read1::Reset => "expected nothing, came a reset".to_string(),
            Read1::End => "expected nothing, the stream ended".to_string(),
        };
        Err(self.failed(&why))
    }

    /// Takes everything until the server's end, at most `limit_bytes`.
    ///
    /// # Errors
    /// When there is a reset, more bytes than that, or no end within [`DEADLINE`] of the last byte.
    pub fn take_to_end(&mut self, limit_bytes: usize) -> Result<Vec<u8>, NotPassed> {
        let mut got = Vec::new();
        let mut block = [0; 65_536];
        let why = loop {
            match self.read(&mut block, Instant::now() + DEADLINE)? {
                Read1::End => return Ok(got),
                Read1::Bytes(n) => got.extend_from_slice(&block[..n]),
                Read1::Reset => break "a reset came before the end of the stream",
                Read1::Nothing => break "the end of the stream did not come",
            }
            if got.len() > limit_bytes {
                break "more came than was asked for";
            }
        };
        Err(self.failed(why))
    }

    /// Waits for the end of the connection, clean or by a reset, and discards what comes before it: for cases in which the
    /// server may cut the client off.
    ///
    /// # Errors
    /// When it does not come within `limit` of the last byte.
    pub fn expect_gone(&mut self, limit: Duration) -> Outcome {
        let mut block = [0; 65_536];
        loop {
            match self.read(&mut block, Instant::now() + limit)? {
                Read1::End | Read1::Reset => return Ok(()),
                Read1::Bytes(_) => {}
                Read1::Nothing => {
                    return Err(
                        self.failed(&format!("expected the server to close, the connection stayed for {limit:?}"))
                    );
                }
            }
        }
    }

    fn read(&mut self, block: &mut [u8], deadline: Instant) -> Result<Read1, NotPassed> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Read1::Nothing);
            }
            self.stream.set_read_timeout(Some(left))?;
            return match self.stream.read(block) {
                Ok(0) => Ok(Read1::End),
                Ok(n) => {
                    self.came.push(&block[..n]);
                    Ok(Read1::Bytes(n))
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => continue,
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Ok(Read1::Reset),
                    _ => Err(self.failed(&format!("receiving: {error}"))),
                },
            };
        }
    }
}

/// What one look at the socket found.
enum Read1 {
    Bytes(usize),
    End,
    Reset,
    /// The time was up.
    Nothing,
}
