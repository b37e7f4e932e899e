//! A client on a socket of smoltcp that plays its side of a talk.

use evserver_core::Time;
use smoltcp::iface::{Context, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{RecvError, Socket, State};
use smoltcp::wire::IpAddress;

use crate::server::PORT;
use crate::talk::Talk;

/// Milliseconds between two tries to connect.
const RETRY_MS: u32 = 10;

/// A client, and how far its talk has come.
pub struct Client {
    handle: SocketHandle,
    server: IpAddress,
    port: u16,
    talk: Talk,
    got: usize,
    /// When it tries to connect.
    connects_at: Time,
    /// When it begins to read; `None` before it is connected.
    reads_from: Option<Time>,
    server_ended: bool,
}

/// How a client's turn ended.
pub enum Played {
    /// It waits for the server.
    Waiting,
    /// Something moved.
    Moved,
    /// All came as it was to come, and both sides have ended.
    Whole,
    /// Something else came; the text says what.
    Different(String),
}

impl Client {
    pub fn new(handle: SocketHandle, server: IpAddress, port: u16, talk: Talk) -> Client {
        let connects_at = Time::from_ms(0);
        Client { handle, server, port, talk, got: 0, connects_at, reads_from: None, server_ended: false }
    }

    /// The talk's name.
    pub fn name(&self) -> &str {
        &self.talk.name
    }

    /// When it does something although nothing comes.
    pub fn wakes_at(&self) -> Option<Time> {
        match self.reads_from {
            None => Some(self.connects_at),
            Some(reads_from) => (self.got == 0).then_some(reads_from),
        }
    }

    /// Sends and reads what can be sent and read.
    pub fn turn(&mut self, sockets: &mut SocketSet<'_>, context: &mut Context, now: Time) -> Played {
        let socket = sockets.get_mut::<Socket>(self.handle);
        let Some(reads_from) = self.reads_from else {
            match socket.state() {
                State::Closed | State::TimeWait if now < self.connects_at => return Played::Waiting,
                // At first, and again when no socket of the server listened.
                State::Closed | State::TimeWait => {
                    self.connects_at = now.after(RETRY_MS);
                    socket.set_nagle_enabled(false);
                    // The acknowledgement of the server's end leaves before this socket has its next client.
                    socket.set_ack_delay(None);
                    let connecting = socket.connect(context, (self.server, PORT), self.port);
                    return connecting
                        .map_or_else(|error| Played::Different(error.to_string()), |()| Played::Moved);
                }
                State::Established | State::CloseWait => {
                    self.reads_from = Some(now.after(self.talk.late_ms));
                    return Played::Moved;
                }
                _ => return Played::Waiting,
            }
        };
        let sent = self.send(socket);
        let read = if now < reads_from { Ok(false) } else { self.read(socket) };
        match read {
            Err(what) => Played::Different(what),
            Ok(read) if sent || read => Played::Moved,
            Ok(_) if self.server_ended && matches!(socket.state(), State::Closed | State::TimeWait) => {
                Played::Whole
            }
            Ok(_) => Played::Waiting,
        }
    }

    /// Sends a piece if it is its turn: one each time, and the stack is polled in between, so that it is a segment of its
    /// own if the server's window takes one.
    fn send(&mut self, socket: &mut Socket<'_>) -> bool {
        let Some(piece) = self.talk.pieces.front_mut() else { return false };
        if self.got < piece.after || !socket.can_send() {
            return false;
        }
        // An error is said by the read: what came before it counts.
        let sent = socket.send_slice(&piece.bytes).unwrap_or(0);
        piece.bytes.drain(..sent);
        if piece.bytes.is_empty() {
            self.talk.pieces.pop_front();
            if self.talk.pieces.is_empty() && self.talk.ends {
                socket.close();
            }
        }
        true
    }

    fn read(&mut self, socket: &mut Socket<'_>) -> Result<bool, String> {
        if self.server_ended {
            return Ok(false);
        }
        let mut bytes = [0; 1024];
        match socket.recv_slice(&mut bytes) {
            Ok(0) => Ok(false),
            Ok(n) => {
                let expected = self.talk.expected.get(self.got..).unwrap_or_default();
                let equal =
                    expected.iter().zip(&bytes[..n]).take_while(|(expected, came)| expected == came).count();
                self.got += equal;
                if equal == n {
                    return Ok(true);
                }
                Err(format!("byte {} should be {:?} and is {}", self.got, expected.get(equal), bytes[equal]))
            }
            Err(RecvError::Finished) if self.got < self.talk.expected.len() => {
                Err(format!("the end came after {} of {} bytes", self.got, self.talk.expected.len()))
            }
            Err(RecvError::Finished) => {
                self.server_ended = true;
                socket.close();
                Ok(true)
            }
            Err(RecvError::InvalidState) => {
                Err(format!("a reset came after {} of {} bytes", self.got, self.talk.expected.len()))
            }
        }
    }
}
