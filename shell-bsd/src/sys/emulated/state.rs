//! One queue's events, and how changes and readiness act on them.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, epoll_event};

use super::abi::{EV_ADD, EV_DELETE, EV_KEEPUDATA, EVFILT_SIGNAL, EVFILT_TIMER, EVFILT_USER, kevent};
use super::counter::{Counter, Name};
use super::kernel::{self, Ctl, Errno};
use super::sink::Sink;
use super::token::{Token, Tokens};
use super::watched::{After, Side, Watched};

/// What a queue knows.
pub(super) struct State {
    /// The queue's number, which is an epoll descriptor.
    kq: c_int,
    /// The queue was closed: `kq` may be anybody's by now.
    pub(super) closed: bool,
    tokens: Tokens,
    /// The caller's descriptors.
    watched: HashMap<c_int, Watched>,
    /// Timers, signals and user events by our descriptor for them.
    counters: HashMap<c_int, Counter>,
    /// The same by name.
    names: HashMap<Name, c_int>,
    /// Always readable once it exists: sends waiters away from an epoll instance
    /// that was left.
    notice: Option<OwnedFd>,
}

impl State {
    pub(super) fn new(kq: c_int) -> Self {
        Self {
            kq,
            closed: false,
            tokens: Tokens::default(),
            watched: HashMap::new(),
            counters: HashMap::new(),
            names: HashMap::new(),
            notice: None,
        }
    }

    /// Forgets all events; `kq` is about to be closed or is already.
    pub(super) fn close(&mut self) {
        *self = Self { closed: true, ..Self::new(self.kq) };
    }

    /// Applies one change.
    pub(super) fn change(&mut self, change: &kevent) -> Result<(), Errno> {
        if change.flags & EV_ADD != 0 && change.flags & EV_KEEPUDATA != 0 {
            return Err(libc::EINVAL);
        }
        if let Some(side) = Side::of(change.filter) {
            // Low water marks, the only note of these filters, are not there.
            if change.fflags != 0 && change.flags & EV_DELETE == 0 {
                return Err(libc::EINVAL);
            }
            return self.change_watched(side, change);
        }
        match change.filter {
            EVFILT_TIMER | EVFILT_SIGNAL | EVFILT_USER => self.change_counter(change),
            _ => Err(libc::EINVAL),
        }
    }

    fn change_watched(&mut self, side: Side, change: &kevent) -> Result<(), Errno> {
        let fd = c_int::try_from(change.ident).map_err(|_| libc::EBADF)?;
        let Some(before) = self.watched.get(&fd).copied() else {
            return self.add_watched(fd, side, change);
        };
        let mut after = before;
        after.change(side, change).map_err(|_| missing(fd))?;
        match self.tell(fd, &after) {
            // The number was closed and means another file now (ENOENT), or none
            // (EBADF): the kernel has dropped what was there, as a BSD does.
            Err(libc::ENOENT) => {
                self.watched.remove(&fd);
                self.add_watched(fd, side, change)
            }
            Err(libc::EBADF) => {
                self.watched.remove(&fd);
                Err(libc::EBADF)
            }
            Err(error) => Err(error),
            Ok(()) => {
                self.keep(fd, after);
                Ok(())
            }
        }
    }

    /// The first knote of a descriptor.
    fn add_watched(&mut self, fd: c_int, side: Side, change: &kevent) -> Result<(), Errno> {
        let mut watched = Watched::new(self.tokens.descriptor(fd));
        watched.change(side, change).map_err(|_| missing(fd))?;
        let mask = watched.mask();
        match kernel::epoll_ctl(self.kq, Ctl::Add, fd, mask, watched.token) {
            // Left from before: the number was closed and has come back to the
            // very same file through a duplicate.
            Err(libc::EEXIST) => {
                kernel::epoll_ctl(self.kq, Ctl::Modify, fd, mask, watched.token)?;
            }
            other => other?,
        }
        self.watched.insert(fd, watched);
        Ok(())
    }

    /// Tells epoll what a descriptor that is registered wants now.
    fn tell(&self, fd: c_int, watched: &Watched) -> Result<(), Errno> {
        let ctl = if watched.is_empty() { Ctl::Delete } else { Ctl::Modify };
        kernel::epoll_ctl(self.kq, ctl, fd, watched.mask(), watched.token)
    }

    fn keep(&mut self, fd: c_int, watched: Watched) {
        if watched.is_empty() {
            self.watched.remove(&fd);
        } else {
            self.watched.insert(fd, watched);
        }
    }

    fn change_counter(&mut self, change: &kevent) -> Result<(), Errno> {
        let name = (change.filter, change.ident);
        let Some(&key) = self.names.get(&name) else {
            if change.flags & EV_ADD == 0 {
                return Err(libc::ENOENT);
            }
            let mut counter = Counter::new(change)?;
            let key = counter.descriptor();
            counter.token = self.tokens.counter(key);
            counter.register(self.kq, Ctl::Add)?;
            self.names.insert(name, key);
            self.counters.insert(key, counter);
            return Ok(());
        };
        if change.flags & EV_DELETE != 0 {
            self.drop_counter(key);
            return Ok(());
        }
        let counter = self.counters.get_mut(&key).ok_or(libc::ENOENT)?;
        let enabled = counter.knote.enabled;
        counter.touch(change)?;
        if counter.knote.enabled != enabled {
            counter.register(self.kq, Ctl::Modify)?;
        }
        Ok(())
    }

    fn drop_counter(&mut self, key: c_int) {
        if let Some(counter) = self.counters.remove(&key) {
            self.names.remove(&counter.name);
            // Closing would do, were there no child that has a copy: a fork that
            // did not exec yet. Nothing is lost if it fails.
            let _ = counter.register(self.kq, Ctl::Delete);
        }
    }

    /// Turns what epoll says into the caller's events.
    pub(super) fn report(&mut self, ready: &[epoll_event], sink: &mut Sink) {
        let mut ghosts = false;
        for (index, event) in ready.iter().enumerate() {
            let (bits, token) = (event.events, event.u64);
            match Token::from(token) {
                Token::Descriptor(fd) => ghosts |= self.report_watched(fd, token, bits, sink),
                // A signal has two descriptors, and one more may be delivered
                // between their reports: that is for the next call, since a
                // queue reports an event once a call.
                Token::Counter(_) if ready[..index].iter().any(|before| before.u64 == token) => {}
                Token::Counter(key) => self.report_counter(key, token, sink),
                // The loop goes on with the instance that took the place.
                Token::Notice => {}
            }
        }
        if ghosts {
            // If it fails, the next event of a ghost tries again.
            let _ = self.shed_ghosts();
        }
    }

    /// Whether the event was of a registration that should not be there.
    fn report_watched(&mut self, fd: c_int, token: u64, bits: u32, sink: &mut Sink) -> bool {
        let Some(mut watched) = self.watched.get(&fd).copied().filter(|w| w.token == token) else {
            return true;
        };
        match watched.report(fd, bits, sink) {
            Ok(after) => {
                if after == After::Renew {
                    // It can only be gone, which the next change finds out.
                    let _ = self.tell(fd, &watched);
                }
                self.keep(fd, watched);
                false
            }
            Err(_) => {
                self.watched.remove(&fd);
                true
            }
        }
    }

    fn report_counter(&mut self, key: c_int, token: u64, sink: &mut Sink) {
        let Some(counter) = self.counters.get_mut(&key).filter(|c| c.token == token) else {
            return;
        };
        // What is not taken stays readable: epoll will say it again.
        if sink.is_full() {
            return;
        }
        let Some(event) = counter.report() else {
            return;
        };
        sink.push(event);
        match counter.knote.returned() {
            None => self.drop_counter(key),
            Some(left) => {
                let disabled = !left.enabled;
                counter.knote = left;
                if disabled {
                    // Our own descriptor is there: this does not fail.
                    let _ = counter.register(self.kq, Ctl::Modify);
                }
            }
        }
    }

    /// Moves the queue to a new epoll instance.
    ///
    /// A descriptor that was closed while a duplicate of it lives keeps its
    /// registration in epoll, which nobody can remove then; epoll(7), question
    /// 6. On a BSD its events are gone. Such a ghost would wake every wait, so
    /// once one shows, all that is alive is registered anew, and the new
    /// instance gets the queue's number.
    fn shed_ghosts(&mut self) -> Result<(), Errno> {
        let fresh = kernel::epoll_create()?;
        let epoll = fresh.as_raw_fd();
        let old = self.kq;
        // Modifying succeeds only if the number still means the same file.
        self.watched.retain(|&fd, w| kernel::epoll_ctl(old, Ctl::Modify, fd, w.mask(), w.token).is_ok());
        for (&fd, w) in &self.watched {
            kernel::epoll_ctl(epoll, Ctl::Add, fd, w.mask(), w.token)?;
        }
        for counter in self.counters.values() {
            counter.register(epoll, Ctl::Add)?;
        }
        // Other threads that wait do so on the old instance, by file.
        let notice = match &self.notice {
            Some(notice) => notice,
            None => self.notice.insert(kernel::new_event(1)?),
        };
        let readable = libc::EPOLLIN as u32;
        kernel::epoll_ctl(old, Ctl::Add, notice.as_raw_fd(), readable, Token::NOTICE)?;
        kernel::replace(old, &fresh)
    }
}

/// The errno for an event that is not there: first the descriptor is looked
/// at, then the event, as FreeBSD's kernel does.
fn missing(fd: c_int) -> Errno {
    if kernel::is_open(fd) { libc::ENOENT } else { libc::EBADF }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::ptr;

    use super::super::abi::{EVFILT_USER, NOTE_TRIGGER};
    use super::*;

    /// Both descriptors of one signal may be ready at once; what is delivered
    /// between the two stands in for itself here as a user event that stays.
    #[test]
    fn an_event_whose_token_comes_twice_is_reported_once() {
        let epoll = kernel::epoll_create().unwrap();
        let mut state = State::new(epoll.as_raw_fd());
        let empty = kevent {
            ident: 1,
            filter: EVFILT_USER,
            flags: 0,
            fflags: 0,
            data: 0,
            udata: ptr::null_mut(),
            ext: [0; 4],
        };
        state.change(&kevent { flags: EV_ADD, ..empty }).unwrap();
        state.change(&kevent { fflags: NOTE_TRIGGER, ..empty }).unwrap();
        let token = state.counters.values().next().unwrap().token;
        let ready = [epoll_event { events: libc::EPOLLIN as u32, u64: token }; 2];
        let mut list = [empty; 2];
        // SAFETY: the list has two places and lives as long as the sink.
        let mut sink = unsafe { Sink::new(list.as_mut_ptr(), list.len()) };
        state.report(&ready, &mut sink);
        assert_eq!(sink.filled(), 1);
    }
}
