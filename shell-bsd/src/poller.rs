//! What is watched: a thin layer over kqueue(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use evserver_core::Interest;
use evserver_hosted::Source;
use evserver_hosted::event_loop::Event;

use crate::interests::Interests;
use crate::sys::{self, Change, Filter, Kevent, Kqueue};

/// Events taken in one wait. More are left for the next one, so this bounds how much a turn does (rule 9).
const EVENTS_IN_A_TURN: usize = 256;

/// A kqueue and room for what it reports.
pub struct Poller {
    queue: Kqueue,
    interests: Interests,
    changes: Vec<Kevent>,
    room: Box<[Kevent]>,
    events: Vec<Event>,
}

impl Poller {
    /// A poller that watches nothing.
    pub fn new() -> io::Result<Self> {
        let room = vec![Kevent::default(); EVENTS_IN_A_TURN].into_boxed_slice();
        let events = Vec::with_capacity(EVENTS_IN_A_TURN);
        Ok(Self { queue: Kqueue::new()?, interests: Interests::default(), changes: Vec::new(), room, events })
    }

    /// Begins to watch a client, from the next wait on. If the kernel refuses then, the wait reports it.
    pub fn watch(&mut self, fd: impl AsFd, source: Source, interest: Interest) {
        self.interests.set(fd.as_fd().as_raw_fd(), source, interest);
    }

    /// Changes what is watched for, from the next wait on.
    pub fn rewatch(&mut self, fd: impl AsFd, source: Source, interest: Interest) {
        self.interests.set(fd.as_fd().as_raw_fd(), source, interest);
    }

    /// Ends a watch, at once: the socket is closed next, and a duplicate of it elsewhere would keep the events coming.
    /// It costs a system call only for a client that the kernel was told of.
    pub fn unwatch(&mut self, fd: impl AsFd, source: Source) {
        if let Some(filter) = self.interests.forget(fd.as_fd().as_raw_fd()) {
            // ENOENT, EBADF: there is nothing to delete.
            let _ = self.apply(Change::Delete, fd, source, filter);
        }
    }

    /// Begins to watch for input on something that is not a client.
    pub fn watch_input(&self, fd: impl AsFd, source: Source) -> io::Result<()> {
        self.apply(Change::Add, fd, source, Filter::Read)
    }

    /// Ends such a watch.
    pub fn unwatch_input(&self, fd: impl AsFd, source: Source) {
        let _ = self.apply(Change::Delete, fd, source, Filter::Read);
    }

    /// Waits for events: so many milliseconds, or without end.
    pub fn wait(&mut self, limit_ms: Option<u64>) -> io::Result<()> {
        let Self { queue, interests, changes, room, events } = self;
        events.clear();
        changes.clear();
        interests.take_changes(changes);
        // A failed change that finds no room in the event list ends the call (kqueue(2)), and those behind it would
        // be lost. So no more changes ride with the wait than there is room for; the others, which are few, go
        // first, with receipts, which keep events out of their answer.
        let too_many = changes.len().saturating_sub(room.len());
        let (first, riding) = changes.split_at_mut(too_many);
        for batch in first.chunks_mut(room.len()) {
            batch.iter_mut().for_each(Kevent::ask_receipt);
            let count = queue.wait(batch, room, Some(0))?;
            dispatch(&room[..count], interests, events);
        }
        let limit_ms = if events.is_empty() { limit_ms } else { Some(0) };
        let count = queue.wait(riding, room, limit_ms)?;
        dispatch(&room[..count], interests, events);
        Ok(())
    }

    /// An event of the last wait, by its number.
    pub fn event(&self, number: usize) -> Option<Event> {
        self.events.get(number).copied()
    }

    fn apply(&self, change: Change, fd: impl AsFd, source: Source, filter: Filter) -> io::Result<()> {
        let ident = fd.as_fd().as_raw_fd() as usize;
        self.queue.apply(&[Kevent::change(change, ident, filter, source.to_bits())])
    }
}

/// What one entry of the event list says.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    /// Something is ready.
    Ready(Event),
    /// The kernel cannot watch this client.
    Refused(Event),
    /// A change is done, or was done before.
    Nothing,
}

fn dispatch(entries: &[Kevent], interests: &Interests, events: &mut Vec<Event>) {
    for entry in entries {
        match meaning(entry, interests) {
            Meaning::Ready(event) => events.push(event),
            Meaning::Refused(event) => {
                // Nothing would ever be heard of this client. With both directions shut, whatever is tried next
                // ends it.
                sys::shutdown_both(entry.ident());
                events.push(event);
            }
            Meaning::Nothing => {}
        }
    }
}

fn meaning(entry: &Kevent, interests: &Interests) -> Meaning {
    let source = Source::from_bits(entry.udata());
    let filter = entry.filter();
    if let Some(errno) = entry.errno() {
        return match errno {
            0 => Meaning::Nothing,
            // What was to be deleted is gone.
            libc::ENOENT | libc::EBADF if !interests.is_told(entry.ident(), filter) => Meaning::Nothing,
            _ => Meaning::Refused(Event { source, readable: true, writable: true, hangup: true }),
        };
    }
    Meaning::Ready(match filter {
        // EV_EOF may come while there is data left, and means no more than that the peer has shut its sending side: it
        // still gets its replies (rule 4). A receive tells what it is, and the level stays until it has.
        Some(Filter::Read) | Some(Filter::Signal) | None => {
            Event { source, readable: true, writable: false, hangup: false }
        }
        // Here it means that nothing can be sent any more.
        Some(Filter::Write) => Event { source, readable: false, writable: true, hangup: entry.is_at_end() },
    })
}

#[cfg(test)]
mod tests;
