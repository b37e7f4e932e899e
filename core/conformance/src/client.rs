//! A client over a real socket that says what went wrong.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, Type};

use crate::bytes::{Excerpt, difference, show};
use crate::case::{NotPassed, Outcome};

/// How long a client waits for anything that must come: far longer than a healthy server needs on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// What the numbered echo says first.
pub const GREETING: &[u8] = b"ready\n";

/// A connection to the server, which remembers the two ends of what it sent and got.
pub struct Client {
    stream: TcpStream,
    /// Its own and the server's: the socket forgets them when a reset comes.
    addresses: (SocketAddr, SocketAddr),
    sent: Excerpt,
    came: Excerpt,
}

impl Client {
    /// Connects, TCP_NODELAY on.
    ///
    /// # Errors
    /// When the server does not take the connection within [`DEADLINE`].
    pub fn connect(address: SocketAddr) -> Result<Client, NotPassed> {
        Client::connect_with(address, None)
    }

    /// Connects with a small receive buffer, set before connecting so that the window is small from the start.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_small(address: SocketAddr, receive_buffer_bytes: usize) -> Result<Client, NotPassed> {
        Client::connect_with(address, Some(receive_buffer_bytes))
    }

    fn connect_with(address: SocketAddr, receive_buffer_bytes: Option<usize>) -> Result<Client, NotPassed> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        if let Some(bytes) = receive_buffer_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket
            .connect_timeout(&address.into(), DEADLINE)
            .map_err(|error| NotPassed::failed(format!("connecting to {address}: {error}")))?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(DEADLINE))?;
        let addresses = (stream.local_addr()?, address);
        Ok(Client { stream, addresses, sent: Excerpt::default(), came: Excerpt::default() })
    }

    /// Connects and expects `ready\n`.
    ///
    /// # Errors
    /// As [`Client::connect`] and [`Client::expect`].
    pub fn greeted(address: SocketAddr) -> Result<Client, NotPassed> {
        let mut client = Client::connect(address)?;
        client.expect(GREETING)?;
        Ok(client)
    }

    /// This end's address and the server's.
    pub(crate) fn addresses(&self) -> (SocketAddr, SocketAddr) {
        self.addresses
    }

    /// The socket itself, for what this type does not offer.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends all bytes, in as few writes as the kernel takes.
    ///
    /// # Errors
    /// When the connection fails or takes nothing for [`DEADLINE`].
    pub fn send(&mut self, bytes: &[u8]) -> Outcome {
        self.sent.push(bytes);
        self.stream.write_all(bytes).map_err(|error| self.failed(&format!("sending {}: {error}", show(bytes))))
    }

    /// Sends each piece in a write of its own; without Nagle's algorithm each leaves at once.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn send_pieces<'a>(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
        pieces.into_iter().try_for_each(|piece| self.send(piece))
    }

    /// Sends what the kernel takes without waiting, and says how much that was.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn send_some(&mut self, bytes: &[u8]) -> Result<usize, NotPassed> {
        self.stream.set_nonblocking(true)?;
        let result = loop {
            match self.stream.write(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.stream.set_nonblocking(false)?;
        match result {
            Ok(n) => {
                self.sent.push(&bytes[..n]);
                Ok(n)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(self.failed(&format!("sending {}: {error}", show(bytes)))),
        }
    }

    /// Sends `pattern` over and over, reading nothing, until the server has taken nothing more for `quiet`; gives the number of bytes.
    ///
    /// # Errors
    /// When the connection fails, or the server still takes bytes after `limit_bytes`.
    pub fn flood(&mut self, pattern: &[u8], quiet: Duration, limit_bytes: usize) -> Result<usize, NotPassed> {
        let block = pattern.repeat(1 + 65_536 / pattern.len());
        let (mut total, mut last) = (0, Instant::now());
        while last.elapsed() < quiet {
            // The stream is periodic: go on where the kernel stopped.
            let n = self.send_some(&block[total % pattern.len()..])?;
            if n == 0 {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            (total, last) = (total + n, Instant::now());
            if total > limit_bytes {
                return Err(self.failed(&format!(
                    "a client that reads nothing could send {total} bytes: the server keeps on taking them"
                )));
            }
        }
        Ok(total)
    }

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

    /// Gives the receive buffer of a client made with [`Client::connect_small`] an ordinary size, so that what is held up
    /// comes at an ordinary speed.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn widen(&self) -> Outcome {
        const ORDINARY_BYTES: usize = 256 * 1024;
        Ok(SockRef::from(&self.stream).set_recv_buffer_size(ORDINARY_BYTES)?)
    }

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

    /// Ends this side's stream; the server's replies can still be read.
    ///
    /// # Errors
    /// When the connection has failed.
    pub fn half_close(&mut self) -> Outcome {
        self.stream
            .shutdown(Shutdown::Write)
            .map_err(|error| self.failed(&format!("ending the sending side: {error}")))
    }

    /// Sends the bytes and the end of the stream behind them in one segment where the system can do that (Linux, up to
    /// the segment's size), else right after one another.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn send_with_end(&mut self, bytes: &[u8]) -> Outcome {
        #[cfg(target_os = "linux")]
        SockRef::from(&self.stream).set_tcp_cork(true)?;
        self.send(bytes)?;
        self.half_close()
    }

    /// Closes so that the peer gets a reset.
    ///
    /// # Errors
    /// When the socket cannot be told so.
    pub fn reset(self) -> Outcome {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))?;
        Ok(())
    }

    /// A failure with what this client sent and got.
    pub fn failed(&self, text: &str) -> NotPassed {
        NotPassed::failed(format!("{text}\n    sent in all: {}\n    came in all: {}", self.sent, self.came))
    }

    /// How many bytes came so far.
    pub fn came_bytes(&self) -> usize {
        self.came.length()
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
