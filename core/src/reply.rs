//! Where a protocol writes its answer.

use crate::token::{Ticket, Token};

/// The free part of a connection's output buffer, lent for one call of the protocol.
#[derive(Debug)]
pub struct Reply<'a> {
    pub(crate) free: &'a mut [u8],
    pub(crate) written: usize,
    /// Bytes that were received behind those of this call.
    pub(crate) behind: usize,
    /// What was asked of the timer: not kept in [`Aside`], where it would take room in every connection.
    pub(crate) timer: TimerRequest,
    pub(crate) aside: &'a mut Aside,
}

/// What a reply needs of its connection to name it and to make tickets.
#[derive(Debug)]
pub(crate) struct Aside {
    pub token: Token,
    /// The serial of the ticket that was made last.
    pub ticket: u32,
}

/// What the protocol asked of its connection's timer during a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerRequest {
    Keep,
    Set(u32),
    Stop,
}

/// The reply does not fit into what is free of the output buffer; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl core::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no room in the output buffer")
    }
}

impl core::error::Error for NoRoom {}

impl Reply<'_> {
    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// [`NoRoom`] when they do not all fit; then nothing is written. A line is handed over only when
    /// [`Protocol::room`](crate::Protocol::room) bytes are free, so a protocol that tells its need truly never
    /// sees this error for a line.
    #[must_use = "nothing was written if there was no room"]
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let space = self.space().get_mut(..bytes.len()).ok_or(NoRoom)?;
        space.copy_from_slice(bytes);
        self.written += bytes.len();
        Ok(())
    }

    /// What is free: for a reply that is put together in place. [`wrote`](Self::wrote) says how much of it was used.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        self.free.get_mut(self.written..).unwrap_or(&mut [])
    }

    /// The first `n` bytes of [`space`](Self::space) are part of the reply; more than there are count as all.
    #[inline]
    pub fn wrote(&mut self, n: usize) {
        self.written += n.min(self.room());
    }

    /// Writes as many of the first of `bytes` as fit and returns their number.
    ///
    /// For a reply that may be larger than the buffer: keep where it was, return
    /// [`Next::More`](crate::Next::More), go on in the repeated call.
    #[must_use = "the bytes behind this number were not written"]
    #[inline]
    pub fn put_some(&mut self, bytes: &[u8]) -> usize {
        let fits = bytes.len().min(self.room());
        match self.put(bytes.get(..fits).unwrap_or(&[])) {
            Ok(()) => fits,
            Err(NoRoom) => 0,
        }
    }

    /// Bytes that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.free.len().saturating_sub(self.written)
    }

    /// Whether the peer sent more than this call hands over, without waiting for its answer.
    ///
    /// A command that changes who is spoken to (STARTTLS and its like) must be refused then, or what was pipelined in
    /// the clear would count as said in private.
    #[inline]
    pub fn has_unread_input(&self) -> bool {
        self.behind > 0
    }

    /// The connection that this reply goes to.
    pub fn token(&self) -> Token {
        self.aside.token
    }

    /// A ticket for an answer that comes later, to be returned as [`Next::Later`](crate::Next::Later).
    ///
    /// If no answer came within `timeout_ms` milliseconds, the protocol's
    /// [`ticket_expired`](crate::Protocol::ticket_expired) is called; 0 is no timeout.
    pub fn ticket(&mut self, timeout_ms: u32) -> Ticket {
        self.aside.ticket = self.aside.ticket.wrapping_add(1);
        Ticket { token: self.aside.token, serial: self.aside.ticket, timeout_ms }
    }

    /// Has [`Protocol::timer`](crate::Protocol::timer) called once, `ms` milliseconds from now, between replies.
    /// An earlier setting is replaced.
    pub fn set_timer(&mut self, ms: u32) {
        self.timer = TimerRequest::Set(ms);
    }

    /// Undoes [`Reply::set_timer`].
    pub fn stop_timer(&mut self) {
        self.timer = TimerRequest::Stop;
    }
}
