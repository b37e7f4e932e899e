//! The events of one descriptor of the caller's: `EVFILT_READ` and
//! `EVFILT_WRITE` are two knotes over one registration in epoll.

use libc::c_int;

use super::abi::{EV_ADD, EV_CLEAR, EV_DELETE, EV_EOF, EVFILT_READ, EVFILT_WRITE, kevent};
use super::kernel::Errno;
use super::knote::Knote;
use super::measure::{self, Measure};
use super::sink::Sink;

/// What makes a registration report changes only.
const EDGE: u32 = libc::EPOLLET as u32;

/// One of the two filters that take a descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Read,
    Write,
}

impl Side {
    /// The side that a filter is, if it takes a descriptor at all.
    pub(super) fn of(filter: i16) -> Option<Self> {
        match filter {
            EVFILT_READ => Some(Self::Read),
            EVFILT_WRITE => Some(Self::Write),
            _ => None,
        }
    }

    fn filter(self) -> i16 {
        match self {
            Self::Read => EVFILT_READ,
            Self::Write => EVFILT_WRITE,
        }
    }

    /// What to ask epoll for.
    fn mask(self) -> u32 {
        let bits = match self {
            Self::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Self::Write => libc::EPOLLOUT,
        };
        bits as u32
    }

    /// What makes the filter report. Hang-ups and errors come unasked, and
    /// either direction has to hear of them; epoll_ctl(2).
    fn trigger(self) -> u32 {
        self.mask() | (libc::EPOLLHUP | libc::EPOLLERR) as u32
    }

    fn measure(self, fd: c_int, ready: u32) -> Result<Measure, Errno> {
        match self {
            Self::Read => measure::reading(fd, ready),
            Self::Write => measure::writing(fd, ready),
        }
    }
}

/// One descriptor's knotes and its registration.
#[derive(Clone, Copy)]
pub(super) struct Watched {
    /// Comes back with each event, and is new with each registration: an event
    /// of an earlier one is told apart by it.
    pub(super) token: u64,
    read: Option<Knote>,
    write: Option<Knote>,
    /// The write side goes first, since the last report had no room for it.
    write_first: bool,
}

/// What a report leaves to be done with the registration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing.
    Keep,
    /// Tell epoll again, which also makes it look again.
    Renew,
}

impl Watched {
    pub(super) fn new(token: u64) -> Self {
        Self { token, read: None, write: None, write_first: false }
    }

    pub(super) fn side(&mut self, side: Side) -> &mut Option<Knote> {
        match side {
            Side::Read => &mut self.read,
            Side::Write => &mut self.write,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read.is_none() && self.write.is_none()
    }

    /// What to register in epoll.
    ///
    /// Edge-triggered if any enabled side has `EV_CLEAR`; a side without it is
    /// then renewed after each report, which amounts to a level. With no side
    /// enabled nothing is asked for, but the registration stays, because it
    /// tells whether the number still means the same file. It is then
    /// edge-triggered so that a hang-up, which cannot be declined, wakes once.
    pub(super) fn mask(&self) -> u32 {
        let mut mask = 0;
        for (side, knote) in [(Side::Read, &self.read), (Side::Write, &self.write)] {
            if let Some(knote) = knote
                && knote.enabled
            {
                mask |= side.mask();
                if knote.flags & EV_CLEAR != 0 {
                    mask |= EDGE;
                }
            }
        }
        if mask == 0 { EDGE } else { mask }
    }

    /// Writes the events of this descriptor that `ready` stands for. EBADF if
    /// the descriptor is gone.
    pub(super) fn report(&mut self, fd: c_int, ready: u32, sink: &mut Sink) -> Result<After, Errno> {
        let edge = self.mask() & EDGE != 0;
        let mut after = After::Keep;
        let order = if self.write_first { [Side::Write, Side::Read] } else { [Side::Read, Side::Write] };
        self.write_first = false;
        for side in order {
            let Some(knote) = *self.side(side) else {
                continue;
            };
            if !knote.enabled || ready & side.trigger() == 0 {
                continue;
            }
            if sink.is_full() {
                self.write_first = side == Side::Write;
                if edge {
                    // Told once by epoll and not yet by us: have it told again.
                    after = After::Renew;
                }
                break;
            }
            let Measure { data, eof } = side.measure(fd, ready)?;
            let flags = if eof { EV_EOF } else { 0 };
            sink.push(knote.event((side.filter(), fd as usize), flags, 0, data));
            let left = knote.returned();
            if left.is_none_or(|left| !left.enabled || edge && left.flags & EV_CLEAR == 0) {
                after = After::Renew;
            }
            *self.side(side) = left;
        }
        Ok(after)
    }

    /// Applies a change to the knote of `side`. ENOENT if there is none and it
    /// is not to be added.
    pub(super) fn change(&mut self, side: Side, change: &kevent) -> Result<(), Errno> {
        let slot = self.side(side);
        match slot {
            Some(_) if change.flags & EV_DELETE != 0 => *slot = None,
            Some(knote) => knote.touch(change),
            None if change.flags & EV_ADD != 0 => *slot = Some(Knote::new(change)),
            None => return Err(libc::ENOENT),
        }
        Ok(())
    }
}
