//! One connection of the load generator: a socket, what it still has to send, and the replies that are due.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use crate::failure::{Failure, Outcome};
use crate::poller::Poller;
use crate::replies::Replies;
use crate::script::Script;

/// Receives this much at once; well over what a server with small buffers sends between two looks.
pub const RECEIVE_BYTES: usize = 64 * 1024;

/// A connection in use.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
    key: u64,
    /// What the kernel did not take yet; empty nearly always.
    unsent: Vec<u8>,
    /// Lines sent, or given to `unsent`.
    pub sent: u64,
    /// When the last of them were sent.
    pub sent_at: Instant,
    /// What came back.
    pub replies: Replies,
}

impl Link {
    /// Takes a socket whose connection is under way and watches it; `key` names connection and event.
    pub fn new(poller: &Poller, socket: OwnedFd, script: &Script, key: u64) -> Outcome<Self> {
        poller.add(&socket, key).map_err(|error| Failure::io("epoll_ctl", error))?;
        let replies = Replies::new(script, key);
        Ok(Link { socket, key, unsent: Vec::new(), sent: 0, sent_at: Instant::now(), replies })
    }

    /// Takes up a connection again that was parked after `answered` lines.
    pub fn unpark(poller: &Poller, socket: OwnedFd, script: &Script, key: u64, answered: u64) -> Outcome<Self> {
        let mut link = Link::new(poller, socket, script, key)?;
        link.sent = answered;
        link.replies = Replies::after(key, answered);
        Ok(link)
    }

    /// The number of this connection, from 0 in the order of opening.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// No longer watched, still open: costs its owner four bytes.
    pub fn park(self, poller: &Poller) -> Outcome<OwnedFd> {
        poller.remove(&self.socket).map_err(|error| Failure::io("epoll_ctl", error))?;
        Ok(self.socket)
    }

    /// Sends the next `count` lines; `scratch` is any buffer, to save an allocation.
    pub fn send_lines(
        &mut self,
        poller: &Poller,
        script: &Script,
        count: u64,
        scratch: &mut Vec<u8>,
        now: Instant,
    ) -> Outcome<()> {
        scratch.clear();
        for number in self.sent + 1..=self.sent + count {
            script.put_line(self.key, number, scratch);
        }
        self.sent += count;
        self.sent_at = now;
        self.send(poller, scratch)
    }

    /// Sends bytes that are no line of the script's, after all that is still unsent.
    pub fn send(&mut self, poller: &Poller, bytes: &[u8]) -> Outcome<()> {
        let taken = if self.unsent.is_empty() { self.send_some(bytes)? } else { 0 };
        if taken < bytes.len() {
            let watched = !self.unsent.is_empty();
            self.unsent.extend_from_slice(&bytes[taken..]);
            if !watched {
                self.watch(poller, true)?;
            }
        }
        Ok(())
    }

    /// There is room again: sends more of what is unsent.
    pub fn flush(&mut self, poller: &Poller) -> Outcome<()> {
        if !self.unsent.is_empty() {
            let taken = self.send_some(&self.unsent)?;
            self.unsent.drain(..taken);
            if self.unsent.is_empty() {
                self.watch(poller, false)?;
            }
        }
        Ok(())
    }

    /// Whether the kernel has taken everything.
    pub fn is_flushed(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Receives once: the bytes, none if there is nothing now, or the end of stream.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> Outcome<Received<'a>> {
        match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((_, 0)) => Ok(Received::End),
            Ok((_, count)) => Ok(Received::Bytes(&buffer[..count])),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(error) => Err(self.failed("receive from", error)),
        }
    }

    /// Receives once and checks; how many replies that completed. The end of stream is a failure.
    pub fn receive_replies(&mut self, script: &Script, buffer: &mut [u8]) -> Outcome<u64> {
        match self.receive(buffer)? {
            Received::Bytes(bytes) => self.replies.check(script, self.sent, bytes),
            Received::Nothing => Ok(0),
            Received::End => Err(self.closed()),
        }
    }

    /// Whether every line that was sent is answered.
    pub fn is_answered(&self) -> bool {
        self.replies.answered() == self.sent
    }

    /// Says that no more will be sent.
    pub fn shut_sending(&self) -> Outcome<()> {
        shutdown(&self.socket, Shutdown::Write).map_err(|error| self.failed("shut", error))
    }

    /// The failure that the server's end of stream is.
    pub fn closed(&self) -> Failure {
        Failure::Closed { connection: self.key, answered: self.replies.answered() }
    }

    fn send_some(&self, bytes: &[u8]) -> Outcome<usize> {
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Ok(taken) => Ok(taken),
            // Also while the connection is still being made.
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(self.failed("send to", error)),
        }
    }

    fn watch(&self, poller: &Poller, output: bool) -> Outcome<()> {
        poller.change(&self.socket, self.key, output).map_err(|error| Failure::io("epoll_ctl", error))
    }

    fn failed(&self, verb: &str, error: Errno) -> Failure {
        Failure::io(format!("cannot {verb} connection {}", self.key), error)
    }
}

/// What one receive gave.
#[derive(Debug)]
pub enum Received<'a> {
    /// Some bytes.
    Bytes(&'a [u8]),
    /// Nothing for now.
    Nothing,
    /// The peer's end of stream.
    End,
}
