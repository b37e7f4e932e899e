//! The peer and the driver of a replay.

use super::way::Sizes;
use super::{Difference, Way, What};
use crate::buffers::Buffers;
use crate::connection::Connection;
use crate::limits::Limits;
use crate::protocol::Protocol;
use crate::reason::CloseReason;
use crate::time::Time;
use crate::wants::Action;

/// A replay takes no time, so that no deadline is due in it.
const NOW: Time = Time::from_ms(0);

/// Times that answers are waited for in a row, without a byte moved in between: more is no progress.
const WAITS_IN_A_ROW: u32 = 1_000;

/// Sends the input, compares the output.
pub(super) struct Peer<'a> {
    /// What is still to be sent.
    input: &'a [u8],
    /// What is still to come.
    output: &'a [u8],
    way: Way,
    sizes: Sizes,
    sent: usize,
    got: usize,
}

impl<'a> Peer<'a> {
    pub fn new(input: &'a [u8], output: &'a [u8], way: Way) -> Self {
        Self { input, output, way, sizes: Sizes::new(way), sent: 0, got: 0 }
    }

    /// Drives a connection from its greeting to its close.
    pub fn talk<P: Protocol, const N: usize>(
        mut self,
        protocol: P,
        mut answer: impl FnMut(&mut Connection<P, &mut Buffers<N>, N>),
    ) -> Result<CloseReason, Difference> {
        let mut storage = Buffers::new();
        let mut spare = Some(&mut storage);
        let mut connection = Connection::new(protocol, &Limits::new(), NOW);
        let mut waits = 0;
        loop {
            // As servers do: whenever a connection is idle, its buffers go, and come back for the next byte.
            if let Some(buffers) = connection.reclaim() {
                spare = Some(buffers);
            }
            match connection.action() {
                Action::Send => {
                    let n = self.take(connection.transmit())?;
                    connection.transmitted(n, NOW);
                }
                Action::Receive => self.give(&mut connection),
                Action::Lend => {
                    if let Some(buffers) = spare.take() {
                        connection.lend(buffers, NOW);
                    }
                    // A greeting is sent, an answer is written: else it waits for the peer.
                    if connection.action() == Action::Receive {
                        self.give(&mut connection);
                    }
                }
                Action::ShutdownWrite => connection.write_shut(NOW),
                Action::Wait => {
                    answer(&mut connection);
                    waits += 1;
                    // It may wait for one answer after another.
                    if waits > WAITS_IN_A_ROW {
                        return Err(self.difference(What::Unanswered));
                    }
                    continue;
                }
                Action::Close(reason) if self.output.is_empty() => return Ok(reason),
                Action::Close(reason) => return Err(self.difference(What::Less(reason))),
            }
            waits = 0;
        }
    }

    /// Takes some of what is pending, and compares it.
    fn take(&mut self, pending: &[u8]) -> Result<usize, Difference> {
        let n = self.sizes.send().min(pending.len());
        for &got in pending.iter().take(n) {
            match self.output.split_first() {
                Some((&expected, rest)) if expected == got => self.output = rest,
                Some((&expected, _)) => return Err(self.difference(What::Byte { expected, got })),
                None => return Err(self.difference(What::More(got))),
            }
            self.got += 1;
        }
        Ok(n)
    }

    /// Sends the next piece, or the end.
    fn give<P: Protocol, const N: usize>(&mut self, connection: &mut Connection<P, &mut Buffers<N>, N>) {
        if self.input.is_empty() {
            return connection.received_end(NOW);
        }
        let space = connection.receive_space();
        let n = self.sizes.receive(self.sent).min(space.len()).min(self.input.len());
        let (piece, rest) = self.input.split_at_checked(n).unwrap_or((self.input, &[]));
        for (place, &byte) in space.iter_mut().zip(piece) {
            *place = byte;
        }
        connection.received(n, NOW);
        self.input = rest;
        self.sent += n;
    }

    fn difference(&self, what: What) -> Difference {
        Difference { way: self.way, at: self.got, what }
    }
}
