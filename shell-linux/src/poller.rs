//! What is watched: a thin layer over epoll(7).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use evserver_core::Interest;
use evserver_hosted::Source;
use evserver_hosted::event_loop::Event;

use crate::sys;

/// Events taken in one wait. More are left for the next one, so this bounds how much a turn does (rule 9).
const EVENTS_IN_A_TURN: usize = 256;

/// An epoll instance and room for what it reports.
pub struct Poller {
    epoll: OwnedFd,
    edge_triggered: bool,
    events: Box<[libc::epoll_event]>,
    ready: usize,
}

impl Poller {
    /// A poller that watches nothing. In edge-triggered mode a client's two directions are watched from the start.
    pub fn new(edge_triggered: bool) -> io::Result<Self> {
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_IN_A_TURN].into_boxed_slice();
        Ok(Self { epoll: sys::epoll_create()?, edge_triggered, events, ready: 0 })
    }

    /// Begins to watch a client. Level mode does not ask for the peer's half-close as an event: a receive of 0
    /// says it, and the flag would fire for as long as replies leave (rule 4).
    pub fn watch(&self, fd: impl AsFd, source: Source, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, source, self.flags(interest))
    }

    /// Changes what is watched for.
    pub fn rewatch(&self, fd: impl AsFd, source: Source, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, source, self.flags(interest))
    }

    /// Ends a watch. The description may live on in a duplicate elsewhere, so closing would not be enough.
    pub fn unwatch(&self, fd: impl AsFd, source: Source) {
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, source, 0);
    }

    /// Begins to watch for input on something that is not a client, always by level.
    pub fn watch_input(&self, fd: impl AsFd, source: Source) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, source, libc::EPOLLIN as u32)
    }

    /// Waits for events, or only looks.
    pub fn wait(&mut self, sleep: bool) -> io::Result<()> {
        self.ready = sys::epoll_wait(&self.epoll, &mut self.events, sleep)?.len();
        Ok(())
    }

    /// An event of the last wait, by its number.
    pub fn event(&self, number: usize) -> Option<Event> {
        let event = self.events[..self.ready].get(number)?;
        let has = |flags: i32| event.events & flags as u32 != 0;
        Some(Event {
            source: Source::from_bits(event.u64),
            readable: has(libc::EPOLLIN | libc::EPOLLRDHUP),
            writable: has(libc::EPOLLOUT),
            hangup: has(libc::EPOLLERR | libc::EPOLLHUP),
        })
    }

    fn flags(&self, interest: Interest) -> u32 {
        let flags = if self.edge_triggered {
            libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET
        } else {
            match interest {
                Interest::None => 0,
                Interest::Read => libc::EPOLLIN,
                Interest::Write => libc::EPOLLOUT,
            }
        };
        flags as u32
    }

    fn control(&self, operation: i32, fd: impl AsFd, source: Source, flags: u32) -> io::Result<()> {
        sys::epoll_ctl(&self.epoll, operation, fd.as_fd().as_raw_fd(), flags, source.to_bits())
    }
}
