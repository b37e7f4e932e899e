//! A client that tells a connection that was lost from one that got a wrong byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use evserver_conformance::DEADLINE;
use socket2::{Domain, Socket, Type};

use crate::window::Window;

/// So long a client waits before the faults are over for it: longer than the second for which accepting rests, and than
/// the two in which a closed connection lingers.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why a conversation did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The connection ended early; what came until then was right.
    Lost,
    /// It was told that the server is full.
    Refused,
    /// Another byte came, or nothing at all.
    Wrong(String),
}

/// How a conversation went.
pub type Talk = Result<(), Broken>;

/// One client.
pub struct Peer {
    stream: TcpStream,
}

impl Peer {
    /// Connects; a small receive buffer is filled soon.
    pub fn connect(address: SocketAddr, receive_buffer_bytes: Option<usize>) -> Result<Peer, Broken> {
        let connected = || {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            if let Some(bytes) = receive_buffer_bytes {
                socket.set_recv_buffer_size(bytes)?;
            }
            socket.connect_timeout(&address.into(), DEADLINE)?;
            let stream = TcpStream::from(socket);
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(DEADLINE))?;
            Ok::<TcpStream, std::io::Error>(stream)
        };
        Ok(Peer { stream: connected().map_err(|_| Broken::Lost)? })
    }

    /// Connects and waits for the greeting.
    pub fn greeted(address: SocketAddr, window: &mut Window) -> Result<Peer, Broken> {
        Peer::connect(address, None)?.welcomed(window)
    }

    /// Waits for the greeting, or a refusal in its place.
    pub fn welcomed(mut self, window: &mut Window) -> Result<Peer, Broken> {
        const GREETING: &[u8] = b"ready\n";
        const FULL: &[u8] = b"server full\n";
        let mut first = [0];
        match self.receive(&mut first, window)? {
            0 => Err(Broken::Lost),
            _ if first[0] == FULL[0] => {
                self.expect(&FULL[1..], window)?;
                Err(Broken::Refused)
            }
            _ if first[0] == GREETING[0] => {
                self.expect(&GREETING[1..], window)?;
                Ok(self)
            }
            _ => Err(Broken::Wrong(format!("{:?} came first", char::from(first[0])))),
        }
    }

    /// Sends all bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Talk {
        self.stream.write_all(bytes).map_err(|_| Broken::Lost)
    }

    /// Sends as much of it as is taken until nothing has been for a moment; gives the number of bytes.
    pub fn send_until_held(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        const HELD: Duration = Duration::from_millis(50);
        self.stream.set_write_timeout(Some(HELD)).map_err(|_| Broken::Lost)?;
        let mut sent = 0;
        while sent < bytes.len() {
            match self.stream.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if is_timeout(error.kind()) => break,
                Err(_) => return Err(Broken::Lost),
            }
        }
        self.stream.set_write_timeout(Some(DEADLINE)).map_err(|_| Broken::Lost)?;
        Ok(sent)
    }

    /// Ends this side.
    pub fn half_close(&mut self) -> Talk {
        self.stream.shutdown(Shutdown::Write).map_err(|_| Broken::Lost)
    }

    /// Sends while it receives what is expected for it.
    pub fn exchange(&mut self, bytes: &[u8], expected: &[u8], window: &mut Window) -> Talk {
        let mut sender = self.stream.try_clone().map_err(|_| Broken::Lost)?;
        std::thread::scope(|scope| {
            let sending = scope.spawn(move || sender.write_all(bytes));
            let talk = self.expect(expected, window);
            if talk.is_err() {
                // Or the sender would wait for ever.
                let _ = self.stream.shutdown(Shutdown::Both);
            }
            let _ = sending.join();
            talk
        })
    }

    /// Expects exactly these bytes next.
    pub fn expect(&mut self, expected: &[u8], window: &mut Window) -> Talk {
        let mut block = [0; 65_536];
        let mut left = expected;
        while !left.is_empty() {
            let room = block.len().min(left.len());
            match self.receive(&mut block[..room], window)? {
                0 => return Err(Broken::Lost),
                count if block[..count] == left[..count] => left = &left[count..],
                count => {
                    return Err(Broken::Wrong(format!(
                        "{:?} came",
                        String::from_utf8_lossy(&block[..count.min(80)])
                    )));
                }
            }
        }
        Ok(())
    }

    /// Expects the server's end next.
    pub fn expect_end(&mut self, window: &mut Window) -> Talk {
        let mut block = [0; 80];
        match self.receive(&mut block, window)? {
            0 => Ok(()),
            count => Err(Broken::Wrong(format!("{:?} came at the end", String::from_utf8_lossy(&block[..count])))),
        }
    }

    /// Takes everything until the server's end.
    pub fn take_to_end(&mut self, window: &mut Window) -> Result<Vec<u8>, Broken> {
        let mut block = [0; 65_536];
        let mut taken = Vec::new();
        loop {
            match self.receive(&mut block, window)? {
                0 => return Ok(taken),
                count => taken.extend_from_slice(&block[..count]),
            }
        }
    }

    /// Receives once. If nothing comes for a while, the faults are made to end; if nothing comes then either, the server
    /// hangs.
    fn receive(&mut self, block: &mut [u8], window: &mut Window) -> Result<usize, Broken> {
        let mut limit = PATIENCE;
        let mut start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() && limit == PATIENCE {
                window.close_since_one_waits();
                (limit, start) = (DEADLINE, Instant::now());
                continue;
            }
            if left.is_zero() {
                return Err(Broken::Wrong("a client waits for ever".to_string()));
            }
            self.stream.set_read_timeout(Some(left)).map_err(|_| Broken::Lost)?;
            match self.stream.read(block) {
                Ok(count) => return Ok(count),
                Err(error) if is_timeout(error.kind()) => {}
                Err(_) => return Err(Broken::Lost),
            }
        }
    }
}

fn is_timeout(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
