//! The caller's event list as something that is filled from the front.

use std::marker::PhantomData;

use super::abi::kevent;

/// Room for events, and how many there are.
pub(super) struct Sink<'a> {
    next: *mut kevent,
    room: usize,
    filled: usize,
    list: PhantomData<&'a mut [kevent]>,
}

impl Sink<'_> {
    /// # Safety
    /// `list` must be valid for writes of `room` events for as long as the sink
    /// is used, or `room` be 0. Others may hold pointers to the same place (the
    /// change list), but no references.
    pub(super) unsafe fn new(list: *mut kevent, room: usize) -> Self {
        Self { next: list, room, filled: 0, list: PhantomData }
    }

    pub(super) fn room(&self) -> usize {
        self.room
    }

    pub(super) fn is_full(&self) -> bool {
        self.room == 0
    }

    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    /// Adds an event; whoever calls has seen that there is room.
    pub(super) fn push(&mut self, event: kevent) {
        assert!(!self.is_full(), "no room in the event list");
        // SAFETY: `next` has room for `room` events, which is not 0, as `new`
        // demands.
        unsafe {
            self.next.write(event);
            self.next = self.next.add(1);
        }
        self.room -= 1;
        self.filled += 1;
    }
}
