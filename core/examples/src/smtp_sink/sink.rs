//! Where mails end up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Mails that are kept.
pub const KEPT_MAILS: usize = 1000;

/// Bytes of mails that are kept.
pub const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// One mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Whom it came from; empty for a bounce.
    pub from: Box<[u8]>,
    /// Whom it is for.
    pub to: Vec<Box<[u8]>>,
    /// What it says: lines with CR LF behind each, without the dots that the transfer put before some.
    pub text: Vec<u8>,
}

/// Counts all mails and keeps the last ones.
#[derive(Debug, Default)]
pub struct Sink {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    mails: VecDeque<Arc<Mail>>,
    bytes: usize,
    taken: u64,
}

impl Mail {
    fn bytes(&self) -> usize {
        self.from.len() + self.to.iter().map(|to| to.len()).sum::<usize>() + self.text.len()
    }
}

impl Sink {
    /// Takes a mail; the oldest ones go when there are too many.
    pub fn take(&self, mail: Mail) {
        let mut gone = Vec::new();
        let mut kept = self.kept();
        kept.taken += 1;
        kept.bytes += mail.bytes();
        kept.mails.push_back(Arc::new(mail));
        while kept.mails.len() > KEPT_MAILS || kept.bytes > KEPT_BYTES {
            let Some(oldest) = kept.mails.pop_front() else { break };
            kept.bytes -= oldest.bytes();
            gone.push(oldest);
        }
        // What went is freed behind the lock.
        drop(kept);
    }

    /// How many mails were taken since the start.
    pub fn taken(&self) -> u64 {
        self.kept().taken
    }

    /// The mails that are kept, the last one last.
    pub fn mails(&self) -> Vec<Arc<Mail>> {
        self.kept().mails.iter().cloned().collect()
    }

    /// A thread that panicked with the lock held left whole mails all the same.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(text: usize) -> Mail {
        Mail { from: b"a"[..].into(), to: vec![b"bc"[..].into()], text: vec![b'x'; text] }
    }

    #[test]
    fn it_counts_all_and_keeps_the_last() {
        let sink = Sink::default();
        for bytes in 0..KEPT_MAILS + 5 {
            sink.take(mail(bytes));
        }
        let mails = sink.mails();
        assert_eq!((sink.taken(), mails.len()), (KEPT_MAILS as u64 + 5, KEPT_MAILS));
        assert_eq!((mails[0].text.len(), mails[KEPT_MAILS - 1].text.len()), (5, KEPT_MAILS + 4));
    }

    #[test]
    fn it_keeps_no_more_bytes_than_it_may() {
        let sink = Sink::default();
        for _ in 0..3 {
            sink.take(mail(KEPT_BYTES / 2));
        }
        assert_eq!(sink.mails().len(), 1, "two of them and their addresses are too much");
        sink.take(mail(KEPT_BYTES));
        assert_eq!((sink.mails().len(), sink.taken(), sink.kept().bytes), (0, 4, 0));
    }
}
