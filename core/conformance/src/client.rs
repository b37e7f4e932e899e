//! A client over a real socket that says what went wrong.

mod duplex;
mod receive;

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, Type};

use crate::bytes::{Excerpt, show};
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

    /// Gives the receive buffer of a client made with [`Client::connect_small`] an ordinary size, so that what is held up
    /// comes at an ordinary speed.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn widen(&self) -> Outcome {
        const ORDINARY_BYTES: usize = 256 * 1024;
        Ok(SockRef::from(&self.stream).set_recv_buffer_size(ORDINARY_BYTES)?)
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
}
