//! Sending while receiving, for conversations that fill the buffers both ways.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::Client;
use crate::case::Outcome;

impl Client {
    /// Sends all bytes in a thread of its own while `read` reads: for conversations that fill the buffers both ways.
    ///
    /// # Errors
    /// As [`Client::send`], and what `read` says.
    pub fn while_sending(&mut self, bytes: &[u8], read: impl FnOnce(&mut Client) -> Outcome) -> Outcome {
        self.both_ways(bytes, |mut stream| stream.write_all(bytes), read)
    }

    /// The same in writes of `piece_bytes`.
    ///
    /// # Errors
    /// As [`Client::while_sending`].
    pub fn while_sending_pieces(
        &mut self,
        bytes: &[u8],
        piece_bytes: usize,
        read: impl FnOnce(&mut Client) -> Outcome,
    ) -> Outcome {
        let mut pieces = bytes.chunks(piece_bytes);
        self.both_ways(bytes, |mut stream| pieces.try_for_each(|piece| stream.write_all(piece)), read)
    }

    /// The same with the end of the stream behind all bytes.
    ///
    /// # Errors
    /// As [`Client::while_sending`].
    pub fn while_sending_with_end(&mut self, bytes: &[u8], read: impl FnOnce(&mut Client) -> Outcome) -> Outcome {
        let send = |mut stream: &TcpStream| {
            stream.write_all(bytes)?;
            stream.shutdown(Shutdown::Write)
        };
        self.both_ways(bytes, send, read)
    }

    fn both_ways(
        &mut self,
        bytes: &[u8],
        send: impl FnOnce(&TcpStream) -> std::io::Result<()> + Send,
        read: impl FnOnce(&mut Client) -> Outcome,
    ) -> Outcome {
        let writer = self.stream.try_clone()?;
        self.sent.push(bytes);
        std::thread::scope(|scope| {
            let sending = scope.spawn(move || send(&writer));
            let received = read(self);
            if received.is_err() {
                // The writer may be stuck behind what nobody reads any more.
                let _ = self.stream.shutdown(Shutdown::Both);
            }
            match sending.join() {
                _ if received.is_err() => received,
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(self.failed(&format!("sending: {error}"))),
                Err(_) => Err(self.failed("the sending thread panicked")),
            }
        })
    }

    /// Sends all bytes while it reads and compares all that is expected.
    ///
    /// # Errors
    /// As [`Client::send`] and [`Client::expect`].
    pub fn exchange(&mut self, bytes: &[u8], expected: &[u8]) -> Outcome {
        self.while_sending(bytes, |client| client.expect(expected))
    }

    /// Sends all bytes, or as many as the server and the kernel take from a client that reads nothing, and reads only then.
    ///
    /// # Errors
    /// As [`Client::exchange`].
    pub fn exchange_late(&mut self, bytes: &[u8], expected: &[u8]) -> Outcome {
        const STUCK: Duration = Duration::from_secs(1);
        let (mut rest, mut last) = (bytes, Instant::now());
        while !rest.is_empty() && last.elapsed() < STUCK {
            match self.send_some(rest)? {
                0 => std::thread::sleep(Duration::from_millis(5)),
                n => (rest, last) = (&rest[n..], Instant::now()),
            }
        }
        self.exchange(rest, expected)
    }
}
