//! The events that are no descriptor of the caller's: timers, signals and user
//! events. Each is a descriptor of ours that the kernel counts in.

use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, timespec};

use super::abi::{
    EV_ADD, EV_CLEAR, EV_ONESHOT, EVFILT_SIGNAL, EVFILT_TIMER, NOTE_FFAND, NOTE_FFCOPY, NOTE_FFCTRLMASK,
    NOTE_FFLAGSMASK, NOTE_FFOR, NOTE_MSECONDS, NOTE_NSECONDS, NOTE_SECONDS, NOTE_TRIGGER, NOTE_USECONDS, kevent,
};
use super::kernel::{self, Ctl, Errno};
use super::knote::Knote;
use super::signals::Watch;

/// What identifies an event: filter and ident.
pub(super) type Name = (i16, usize);

/// One timer, signal or user event.
pub(super) struct Counter {
    pub(super) name: Name,
    pub(super) token: u64,
    pub(super) knote: Knote,
    kind: Kind,
}

enum Kind {
    Timer(OwnedFd),
    Signal(Watch),
    User {
        /// Readable while triggered.
        event: OwnedFd,
        triggered: bool,
        fflags: u32,
        data: i64,
    },
}

impl Counter {
    /// The event that `change` adds, not registered yet.
    pub(super) fn new(change: &kevent) -> Result<Self, Errno> {
        let mut knote = Knote::new(change);
        let kind = match change.filter {
            EVFILT_TIMER => {
                let (first, interval) = period(change)?;
                // No descriptor left is what a full table of timers is.
                let timer = kernel::new_timer().map_err(|_| libc::ENOMEM)?;
                kernel::arm_timer(&timer, first, interval)?;
                knote.flags |= EV_CLEAR;
                Kind::Timer(timer)
            }
            EVFILT_SIGNAL => {
                let signal = c_int::try_from(change.ident).map_err(|_| libc::EINVAL)?;
                knote.flags |= EV_CLEAR;
                Kind::Signal(Watch::new(signal).map_err(|error| match error {
                    libc::EMFILE | libc::ENFILE => libc::ENOMEM,
                    other => other,
                })?)
            }
            // A trigger in the change that adds is not seen: FreeBSD's kernel
            // clears fflags before it looks.
            _ => Kind::User {
                event: kernel::new_event(0).map_err(|_| libc::ENOMEM)?,
                triggered: false,
                fflags: change.fflags & NOTE_FFLAGSMASK,
                data: change.data,
            },
        };
        Ok(Self { name: (change.filter, change.ident), token: 0, knote, kind })
    }

    /// The descriptor that is readable when there is something to report; also
    /// this event's key in the table.
    pub(super) fn descriptor(&self) -> c_int {
        match &self.kind {
            Kind::Timer(timer) => timer.as_raw_fd(),
            Kind::Signal(watch) => watch.counter().as_raw_fd(),
            Kind::User { event, .. } => event.as_raw_fd(),
        }
    }

    /// Adds, updates or removes the registration.
    pub(super) fn register(&self, epoll: c_int, ctl: Ctl) -> Result<(), Errno> {
        if let Kind::Signal(watch) = &self.kind
            && !matches!(ctl, Ctl::Modify)
        {
            // A blocked signal is noted also while the event is disabled.
            let pending = watch.pending().as_raw_fd();
            kernel::epoll_ctl(epoll, ctl, pending, libc::EPOLLIN as u32, self.token)?;
        }
        let mask = if self.knote.enabled { libc::EPOLLIN as u32 } else { 0 };
        kernel::epoll_ctl(epoll, ctl, self.descriptor(), mask, self.token)
    }

    /// Applies a change to an event that exists (any but a delete).
    pub(super) fn touch(&mut self, change: &kevent) -> Result<(), Errno> {
        match &mut self.kind {
            Kind::Timer(timer) if change.flags & EV_ADD != 0 => {
                let (first, interval) = period(change)?;
                kernel::arm_timer(timer, first, interval)?;
            }
            Kind::Timer(_) => {}
            Kind::Signal(watch) => watch.renew()?,
            Kind::User { event, triggered, fflags, data } => {
                let flags = change.fflags & NOTE_FFLAGSMASK;
                match change.fflags & NOTE_FFCTRLMASK {
                    NOTE_FFAND => *fflags &= flags,
                    NOTE_FFOR => *fflags |= flags,
                    NOTE_FFCOPY => *fflags = flags,
                    _ => {}
                }
                *data = change.data;
                if change.flags & EV_CLEAR != 0 {
                    // In FreeBSD's kernel this undoes a trigger in the same
                    // change too.
                    *triggered = false;
                    kernel::take_count(event);
                } else if change.fflags & NOTE_TRIGGER != 0 {
                    *triggered = true;
                    kernel::count_one(event.as_raw_fd());
                }
            }
        }
        let automatic = match self.kind {
            Kind::User { .. } => 0,
            Kind::Timer(_) | Kind::Signal(_) => EV_CLEAR,
        };
        self.knote.touch(change);
        self.knote.flags |= automatic;
        Ok(())
    }

    /// What there is to report, if the event is enabled and there is anything.
    /// It is reset by this, as its filter says.
    pub(super) fn report(&mut self) -> Option<kevent> {
        if let Kind::Signal(watch) = &self.kind {
            // Also while the event is disabled, or it would wake every wait.
            watch.note_blocked();
        }
        if !self.knote.enabled {
            return None;
        }
        // Another thread may have been told the same by epoll, and have taken it.
        let count = match &mut self.kind {
            Kind::Timer(timer) => kernel::take_count(timer),
            Kind::Signal(watch) => kernel::take_count(watch.counter()),
            Kind::User { triggered: false, .. } => 0,
            Kind::User { event, triggered, fflags, data } => {
                if self.knote.flags & EV_CLEAR != 0 {
                    *triggered = false;
                    kernel::take_count(event);
                }
                return Some(self.knote.event(self.name, 0, *fflags, *data));
            }
        };
        let data = i64::try_from(count).unwrap_or(i64::MAX);
        (data > 0).then(|| self.knote.event(self.name, 0, 0, data))
    }
}

/// First expiry and interval of a timer, from a change's data and unit.
fn period(change: &kevent) -> Result<(timespec, timespec), Errno> {
    const ZERO: timespec = timespec { tv_sec: 0, tv_nsec: 0 };
    if change.data < 0 {
        return Err(libc::EINVAL);
    }
    let once = change.flags & EV_ONESHOT != 0;
    // A period of nothing is one unit; a single shot after nothing stays.
    let amount = if once { change.data } else { change.data.max(1) };
    // Units in a second.
    let units: i64 = match change.fflags {
        NOTE_SECONDS => 1,
        0 | NOTE_MSECONDS => 1_000,
        NOTE_USECONDS => 1_000_000,
        NOTE_NSECONDS => 1_000_000_000,
        _ => return Err(libc::EINVAL),
    };
    let mut first = timespec { tv_sec: amount / units, tv_nsec: amount % units * (1_000_000_000 / units) };
    if amount == 0 {
        // A timerfd set to nothing is disarmed; timerfd_settime(2).
        first.tv_nsec = 1;
    }
    Ok((first, if once { ZERO } else { first }))
}
