//! Answers each line with its digest.
//!
//! `text` is answered at once with its SHA-256. `slow text` is answered with a password hash of `text`, PBKDF2 with
//! HMAC-SHA-256, which is slow on purpose: it is computed on a thread of a pool, and its connection waits for it, so
//! answers come in the order of the lines. Other connections go on meanwhile.

use std::sync::Arc;

use evserver_core::{Next, Protocol, Reply};
use evserver_hosted::{Handle, Peer, Submitted, WorkPanicked, WorkPool};
use sha2::{Digest, Sha256};

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 32;

/// A digest in hexadecimal and a newline; errors are shorter.
const ROOM: usize = 2 * DIGEST_BYTES + 1;

/// What every password is salted with. A real service draws one for each password and stores it.
pub const SALT: &[u8] = b"evserver";

/// How a slow digest is made.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of PBKDF2.
    pub rounds: u32,
    /// Milliseconds after which it is given up, waiting for a thread included; 0 is never.
    pub timeout_ms: u32,
}

/// Some tens of milliseconds of a processor; a minute of patience.
impl Default for Effort {
    fn default() -> Self {
        Self { rounds: 100_000, timeout_ms: 60_000 }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Hash {
    pool: Arc<WorkPool>,
    handle: Handle<Self>,
    effort: Effort,
    /// Work that is under way.
    submitted: Option<Submitted>,
    /// Its result.
    result: Result<[u8; DIGEST_BYTES], WorkPanicked>,
}

impl Hash {
    /// A connection that leaves slow work to this pool.
    pub fn new(pool: &Arc<WorkPool>, effort: Effort, peer: &Peer<Self>) -> Self {
        let (pool, handle) = (Arc::clone(pool), peer.handle.clone());
        Self { pool, handle, effort, submitted: None, result: Err(WorkPanicked) }
    }

    fn slow(&mut self, password: &[u8], reply: &mut Reply<'_>) -> Next {
        let ticket = reply.ticket(self.effort.timeout_ms);
        let (password, rounds) = (password.to_vec(), self.effort.rounds);
        let work = move || pbkdf2::pbkdf2_hmac_array::<Sha256, DIGEST_BYTES>(&password, SALT, rounds);
        let answer = |hash: &mut Self, result| hash.result = result;
        self.submitted = Some(self.pool.submit(&self.handle, ticket, work, answer));
        Next::Later(ticket)
    }
}

/// Answers with a digest in hexadecimal.
fn put(digest: &[u8; DIGEST_BYTES], reply: &mut Reply<'_>) -> Next {
    let mut text = [b'\n'; ROOM];
    for (place, byte) in text.chunks_exact_mut(2).zip(digest) {
        place.copy_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
    }
    reply.put(&text).map_or(Next::Close, |()| Next::Line)
}

fn hex(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble)]
}

impl Protocol for Hash {
    fn room(&self, _: usize) -> usize {
        ROOM
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        match line.strip_prefix(b"slow ") {
            Some(password) => self.slow(password, reply),
            None => put(&Sha256::digest(line).into(), reply),
        }
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        self.submitted = None;
        match self.result {
            Ok(digest) => put(&digest, reply),
            Err(WorkPanicked) => reply.put(b"error: it failed\n").map_or(Next::Close, |()| Next::Line),
        }
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        self.submitted = None;
        reply.put(b"error: it took too long\n").map_or(Next::Close, |()| Next::Line)
    }
}

#[cfg(test)]
mod tests;
