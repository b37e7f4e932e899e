//! One epoll instance and the events of its last wait.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::failure::{Failure, Outcome};

/// Events that one wait can bring; as many as the yardstick takes.
const EVENTS: usize = 256;

/// What became ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// The key that the socket was added with.
    pub key: u64,
    /// Something can be received: data, the end of stream or an error.
    pub readable: bool,
    /// Something can be sent.
    pub writable: bool,
}

/// An epoll instance, level-triggered.
pub struct Poller {
    epoll: OwnedFd,
    events: Box<[Event]>,
}

impl Poller {
    /// A new instance that watches nothing.
    pub fn new() -> Outcome<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|error| Failure::io("epoll_create", error))?;
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Poller { epoll, events: vec![none; EVENTS].into() })
    }

    /// Waits for events, at most `timeout`, and as long again after each signal or stop; how many there are, 0 after the
    /// time.
    pub fn wait(&mut self, timeout: Duration) -> Outcome<usize> {
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        loop {
            match epoll::wait(&self.epoll, &mut self.events[..], Some(&timeout)) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::io("epoll_wait", error)),
            }
        }
    }

    /// Event `index` of the last wait.
    pub fn ready(&self, index: usize) -> Ready {
        let Event { flags, data } = self.events[index];
        Ready {
            key: data.u64(),
            // Whatever the end or the error is, receiving tells.
            readable: flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR),
            writable: flags.contains(EventFlags::OUT),
        }
    }

    /// Starts to watch a socket for input.
    pub(crate) fn add(&self, socket: impl AsFd, key: u64) -> rustix::io::Result<()> {
        epoll::add(&self.epoll, socket, EventData::new_u64(key), EventFlags::IN)
    }

    /// Watches for input, and for room to send if `output`.
    pub(crate) fn change(&self, socket: impl AsFd, key: u64, output: bool) -> rustix::io::Result<()> {
        let flags = if output { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        epoll::modify(&self.epoll, socket, EventData::new_u64(key), flags)
    }

    /// Stops to watch a socket that stays open.
    pub(crate) fn remove(&self, socket: impl AsFd) -> rustix::io::Result<()> {
        epoll::delete(&self.epoll, socket)
    }
}
