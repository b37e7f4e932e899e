//! Tests a protocol against every way in which its conversation could be cut.
//!
//! Where a network cuts a stream, and how much of it a socket takes at a time, must change nothing. A [`Conversation`] is
//! what a peer sends and exactly what it must get; [`check`](Conversation::check) replays it with the input cut in two at
//! every place, byte by byte, and with every size of write from one byte up, and says where the first difference is.
//!
//! ```
//! use evserver_core::testing::Conversation;
//! use evserver_core::{Next, Protocol, Reply};
//!
//! /// Adds up the numbers that it is sent, and says the sum at the peer's end.
//! struct Sum(u64);
//!
//! impl Protocol for Sum {
//!     fn room(&self, _: usize) -> usize {
//!         2
//!     }
//!
//!     fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
//!         match evserver_core::parse_decimal(line) {
//!             Some(number) => self.0 += number,
//!             None => return reply.put(b"?\n").map_or(Next::Close, |()| Next::Line),
//!         }
//!         Next::Line
//!     }
//!
//!     fn end(&mut self, _: &[u8], reply: &mut Reply<'_>) -> Next {
//!         let _ = reply.put(format!("{}\n", self.0).as_bytes());
//!         Next::Close
//!     }
//! }
//!
//! let conversation = Conversation::new(b"1\r\n20\n+5\n300\n", b"?\n321\n");
//! let runs = conversation.random_cuts(100).check(|| Sum(0))?;
//! assert_eq!(runs, 1 + 12 + 1 + 6 + 100);
//!
//! // A protocol that answers otherwise is found out.
//! let difference = conversation.check(|| Sum(1)).unwrap_err();
//! assert_eq!(difference.to_string(), "all in one piece, written whole: byte 5 of the output should be '1' and is '2'");
//! # Ok::<(), evserver_core::testing::Difference>(())
//! ```
//!
//! Without an allocation, so that it runs on the target as well.

mod difference;
mod peer;
mod way;

pub use difference::{Difference, What};
pub use way::{Cuts, Way};

use crate::buffers::{BUFFER_BYTES, Buffers};
use crate::connection::Connection;
use crate::protocol::Protocol;
use crate::reason::CloseReason;
use peer::Peer;

/// What a peer sends before it ends its stream, and exactly what it must get before ours ends.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    input: &'a [u8],
    output: &'a [u8],
    random: u32,
}

impl<'a> Conversation<'a> {
    /// A conversation. What the input holds behind the protocol's own close is sent all the same, as a peer would.
    pub const fn new(input: &'a [u8], output: &'a [u8]) -> Self {
        Self { input, output, random: 0 }
    }

    /// [`check`](Self::check) also replays it with so many random cuts and sizes of writes, numbered from 0. They are
    /// the same each time: [`Cuts::Random`] with a number replays one.
    #[must_use]
    pub const fn random_cuts(self, runs: u32) -> Self {
        Self { random: runs, ..self }
    }

    /// Replays it in every way: whole, cut in two at every place, byte by byte, with writes of every size, and as
    /// often at random as was asked for. Says how many ways that were.
    ///
    /// The time grows with the square of the input: for more than some tens of kilobytes take single ways with
    /// [`replay`](Self::replay).
    ///
    /// # Errors
    /// The first difference.
    pub fn check<P: Protocol>(&self, make: impl FnMut() -> P) -> Result<u64, Difference> {
        self.check_deferred::<P, BUFFER_BYTES>(make, |_| {})
    }

    /// [`check`](Self::check) with buffers of `N` bytes and for a protocol that says [`Next::Later`](crate::Next::Later):
    /// `answer` is called when the connection waits for an answer, to give it with
    /// [`complete`](Connection::complete).
    ///
    /// # Errors
    /// The first difference.
    pub fn check_deferred<P: Protocol, const N: usize>(
        &self,
        mut make: impl FnMut() -> P,
        mut answer: impl FnMut(&mut Connection<P, &mut Buffers<N>, N>),
    ) -> Result<u64, Difference> {
        let whole = Way { cuts: Cuts::Whole, write: usize::MAX };
        let reason = self.replay::<P, N>(whole, make(), &mut answer)?;
        let mut runs = 1;
        let cuts = (1..self.input.len()).map(Cuts::At).chain([Cuts::Every(1)]);
        let cut = cuts.map(|cuts| Way { cuts, ..whole });
        let written = (1..=self.output.len().min(N)).map(|write| Way { write, ..whole });
        let random = (0..self.random).map(|number| Way { cuts: Cuts::Random(number), ..whole });
        for way in cut.chain(written).chain(random) {
            let again = self.replay::<P, N>(way, make(), &mut answer)?;
            if again != reason {
                let what = What::Reason { expected: reason, got: again };
                return Err(Difference { way, at: self.output.len(), what });
            }
            runs += 1;
        }
        Ok(runs)
    }

    /// Replays it in one way. Says why the connection was closed, after all of the output had come.
    ///
    /// # Errors
    /// The first difference.
    pub fn replay<P: Protocol, const N: usize>(
        &self,
        way: Way,
        protocol: P,
        answer: impl FnMut(&mut Connection<P, &mut Buffers<N>, N>),
    ) -> Result<CloseReason, Difference> {
        Peer::new(self.input, self.output, way).talk(protocol, answer)
    }
}

#[cfg(test)]
mod tests;
