//! What each client is watched for, and what of it the kernel has yet to be told.

use std::os::fd::RawFd;

use evserver_core::Interest;
use evserver_hosted::Source;

use crate::sys::{Change, Filter, Kevent};

/// The interests of all clients, by descriptor.
///
/// A new interest is only noted here; it is told with the change list of the next wait, so that it costs no system
/// call of its own, and one that is back where it was by then costs nothing. A client that leaves takes with it what
/// was not told: its descriptor's number may be another client's before the next wait.
#[derive(Default)]
pub struct Interests {
    watches: Vec<Watch>,
    /// Descriptors whose interest may have changed, each once.
    untold: Vec<RawFd>,
}

/// One descriptor.
#[derive(Clone, Copy)]
struct Watch {
    source: Source,
    wanted: Interest,
    told: Interest,
    /// It is in the list of the untold ones.
    listed: bool,
}

impl Watch {
    /// Nobody's.
    const NONE: Self = Self { source: Source::Timer, wanted: Interest::None, told: Interest::None, listed: false };
}

impl Interests {
    /// Notes what a client is to be watched for.
    pub fn set(&mut self, fd: RawFd, source: Source, interest: Interest) {
        let number = fd as usize;
        if number >= self.watches.len() {
            self.watches.resize(number + 1, Watch::NONE);
        }
        let watch = &mut self.watches[number];
        (watch.source, watch.wanted) = (source, interest);
        if !watch.listed && watch.wanted != watch.told {
            watch.listed = true;
            self.untold.push(fd);
        }
    }

    /// Forgets a client, and says what the kernel watches it for.
    pub fn forget(&mut self, fd: RawFd) -> Option<Filter> {
        let watch = self.watches.get_mut(fd as usize)?;
        let told = filter_of(watch.told);
        *watch = Watch { listed: watch.listed, ..Watch::NONE };
        told
    }

    /// Takes what is to be told as changes, behind those that are in the list.
    pub fn take_changes(&mut self, changes: &mut Vec<Kevent>) {
        for fd in self.untold.drain(..) {
            let watch = &mut self.watches[fd as usize];
            watch.listed = false;
            let (told, wanted) = (watch.told, watch.wanted);
            if told == wanted {
                continue;
            }
            watch.told = wanted;
            let of = |change, filter| Kevent::change(change, fd as usize, filter, watch.source.to_bits());
            changes.extend(filter_of(told).map(|filter| of(Change::Delete, filter)));
            changes.extend(filter_of(wanted).map(|filter| of(Change::Add, filter)));
        }
    }

    /// Whether a change that was taken for this filter was to add it: else it was to delete it.
    pub fn is_told(&self, ident: usize, filter: Option<Filter>) -> bool {
        self.watches.get(ident).is_some_and(|watch| watch.told != Interest::None && filter_of(watch.told) == filter)
    }
}

fn filter_of(interest: Interest) -> Option<Filter> {
    match interest {
        Interest::None => None,
        Interest::Read => Some(Filter::Read),
        Interest::Write => Some(Filter::Write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evserver_core::Token;

    fn client(number: u64) -> Source {
        Source::Client(Token::from_bits(number))
    }

    fn add(fd: usize, filter: Filter, number: u64) -> Kevent {
        Kevent::change(Change::Add, fd, filter, client(number).to_bits())
    }

    fn delete(fd: usize, filter: Filter, number: u64) -> Kevent {
        Kevent::change(Change::Delete, fd, filter, client(number).to_bits())
    }

    fn changes(interests: &mut Interests) -> Vec<Kevent> {
        let mut changes = Vec::new();
        interests.take_changes(&mut changes);
        changes
    }

    #[test]
    fn a_change_is_told_once() {
        let mut interests = Interests::default();
        interests.set(7, client(1), Interest::Read);
        assert_eq!(changes(&mut interests), [add(7, Filter::Read, 1)]);
        assert_eq!(changes(&mut interests), []);
        interests.set(7, client(1), Interest::Write);
        assert_eq!(changes(&mut interests), [delete(7, Filter::Read, 1), add(7, Filter::Write, 1)]);
        interests.set(7, client(1), Interest::None);
        assert_eq!(changes(&mut interests), [delete(7, Filter::Write, 1)]);
        assert_eq!(interests.forget(7), None);
        assert_eq!(changes(&mut interests), []);
    }

    #[test]
    fn changes_between_two_waits_are_one() {
        let mut interests = Interests::default();
        for interest in [Interest::Read, Interest::Write, Interest::None, Interest::Write] {
            interests.set(3, client(1), interest);
        }
        assert_eq!(changes(&mut interests), [add(3, Filter::Write, 1)]);
        for interest in [Interest::Read, Interest::None, Interest::Write] {
            interests.set(3, client(1), interest);
        }
        assert_eq!(changes(&mut interests), []);
    }

    #[test]
    fn a_client_that_leaves_takes_its_changes_with_it() {
        let mut interests = Interests::default();
        interests.set(5, client(1), Interest::Read);
        assert_eq!(interests.forget(5), None, "the kernel was told nothing yet");
        assert_eq!(changes(&mut interests), []);

        interests.set(5, client(2), Interest::Read);
        assert_eq!(changes(&mut interests), [add(5, Filter::Read, 2)]);
        interests.set(5, client(2), Interest::Write);
        assert_eq!(interests.forget(5), Some(Filter::Read));
        // Another client gets the number before the next wait.
        interests.set(5, client(3), Interest::Read);
        assert_eq!(changes(&mut interests), [add(5, Filter::Read, 3)]);
    }

    #[test]
    fn additions_and_deletions_are_told_apart() {
        let mut interests = Interests::default();
        interests.set(5, client(1), Interest::Read);
        changes(&mut interests);
        interests.set(5, client(1), Interest::Write);
        changes(&mut interests);
        assert!(interests.is_told(5, Some(Filter::Write)));
        assert!(!interests.is_told(5, Some(Filter::Read)));
        assert!(!interests.is_told(5, None));
        assert!(!interests.is_told(6, Some(Filter::Write)));
        assert_eq!(interests.forget(9), None);
    }
}
