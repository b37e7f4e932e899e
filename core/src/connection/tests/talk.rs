//! A connection with the peer that a test plays.

use std::string::{String, ToString};
use std::vec::Vec;

use super::*;

/// The moment at which every [`Talk`] begins.
pub const START: Time = Time::from_ms(1_000);

/// Idle and linger limits unlike any other number in the tests.
pub const LIMITS: Limits = Limits { idle_ms: 30_000, line_ms: 7_000, linger_ms: 2_000 };

/// A connection that has buffers, and the time.
pub struct Talk<P: Protocol, const N: usize> {
    pub connection: Connection<P, Box<Buffers<N>>, N>,
    pub now: Time,
}

/// The numbered echo, whose greeting was taken.
pub fn echo<const N: usize>() -> Talk<NumberedEcho, N> {
    let mut talk = Talk::new(NumberedEcho::new());
    talk.expect(b"ready\n");
    talk
}

impl<P: Protocol, const N: usize> Talk<P, N> {
    pub fn new(protocol: P) -> Self {
        Self::with(Connection::new(protocol, &LIMITS, START))
    }

    pub fn with(mut connection: Connection<P, Box<Buffers<N>>, N>) -> Self {
        connection.lend(Box::default(), START);
        Self { connection, now: START }
    }

    /// One receive that brings these bytes.
    #[track_caller]
    pub fn receive(&mut self, bytes: &[u8]) {
        let space = self.connection.receive_space();
        assert!(bytes.len() <= space.len(), "{} bytes into {}", bytes.len(), space.len());
        space[..bytes.len()].copy_from_slice(bytes);
        self.connection.received(bytes.len(), self.now);
    }

    /// The peer sends this, as far as it is taken, and takes everything that is answered, which is returned.
    #[track_caller]
    pub fn exchange(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut answers = self.take_all();
        while !bytes.is_empty() && self.connection.action() == Action::Receive {
            let space = self.connection.receive_space().len().min(bytes.len());
            self.receive(&bytes[..space]);
            answers.append(&mut self.take_all());
            bytes = &bytes[space..];
        }
        answers
    }

    /// Takes what is pending, at most `most` bytes.
    pub fn take(&mut self, most: usize) -> Vec<u8> {
        let taken: Vec<u8> = self.connection.transmit().iter().copied().take(most).collect();
        self.connection.transmitted(taken.len(), self.now);
        taken
    }

    /// Takes for as long as something is pending.
    pub fn take_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.connection.transmit().is_empty() {
            all.append(&mut self.take(usize::MAX));
        }
        all
    }

    /// Exactly these bytes are what the connection has to say.
    #[track_caller]
    pub fn expect(&mut self, bytes: &[u8]) {
        let got = self.take_all();
        assert!(got == bytes, "expected {:?}, got {:?}", show(bytes), show(&got));
    }

    pub fn end(&mut self) {
        self.connection.received_end(self.now);
    }

    pub fn pass(&mut self, ms: u32) -> &mut Self {
        self.now = self.now.after(ms);
        self
    }

    #[track_caller]
    pub fn assert_waits(&self, interest: Interest, action: Action, waiting: Waiting) {
        let wants = self.connection.wants();
        assert_eq!((wants.interest, wants.action, wants.waiting), (interest, action, waiting));
    }

    #[track_caller]
    pub fn assert_reads(&self) {
        self.assert_waits(Interest::Read, Action::Receive, Waiting::ForInput);
    }

    /// Our side is shut here, and the peer's end ends it.
    #[track_caller]
    pub fn assert_closes_by_lingering(&mut self, reason: CloseReason) {
        self.assert_waits(Interest::None, Action::ShutdownWrite, Waiting::ForShutdown);
        self.connection.write_shut(self.now);
        self.assert_waits(Interest::Read, Action::Receive, Waiting::ForPeerEnd);
        self.end();
        self.assert_over(reason);
    }

    #[track_caller]
    pub fn assert_over(&mut self, reason: CloseReason) {
        self.assert_waits(Interest::None, Action::Close(reason), Waiting::Over);
        assert_eq!(self.connection.deadline(), None);
        assert!(self.connection.transmit().is_empty() && self.connection.receive_space().is_empty());
    }
}

/// Bytes for a person.
pub fn show(bytes: &[u8]) -> String {
    match bytes {
        _ if bytes.len() > 60 => {
            std::format!("{}… ({} bytes) …{}", show(&bytes[..20]), bytes.len(), show(&bytes[bytes.len() - 20..]))
        }
        _ => bytes.escape_ascii().to_string(),
    }
}
