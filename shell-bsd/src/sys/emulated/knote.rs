//! What every event has, whatever its filter: the caller's settings.

use std::ptr;

use super::abi::{
    EV_ADD, EV_CLEAR, EV_DISABLE, EV_DISPATCH, EV_ENABLE, EV_KEEPUDATA, EV_ONESHOT, EV_RECEIPT, kevent,
};
use super::counter::Name;

/// The flags that are a property of the event and are handed back with it; the
/// others are actions.
const KEPT: u16 = EV_CLEAR | EV_ONESHOT | EV_DISPATCH | EV_RECEIPT;

/// An event's settings.
#[derive(Clone, Copy)]
pub(super) struct Knote {
    pub(super) flags: u16,
    pub(super) enabled: bool,
    /// An address that is only kept, so that the table may move between threads.
    udata: usize,
    ext: [u64; 4],
}

impl Knote {
    /// The settings that an adding change gives.
    pub(super) fn new(change: &kevent) -> Self {
        Self {
            flags: change.flags & KEPT,
            enabled: change.flags & EV_DISABLE == 0,
            udata: change.udata.expose_provenance(),
            ext: change.ext,
        }
    }

    /// Applies a change to an event that exists.
    pub(super) fn touch(&mut self, change: &kevent) {
        if change.flags & EV_ADD != 0 {
            *self = Self::new(change);
            return;
        }
        // EV_ENABLE goes first in FreeBSD's kernel when both are given.
        if change.flags & EV_ENABLE != 0 {
            self.enabled = true;
        } else if change.flags & EV_DISABLE != 0 {
            self.enabled = false;
        }
        if change.flags & EV_KEEPUDATA == 0 {
            self.udata = change.udata.expose_provenance();
        }
    }

    /// What becomes of the event once it is returned: it goes (`None`), or it
    /// stays, perhaps disabled.
    pub(super) fn returned(mut self) -> Option<Self> {
        if self.flags & EV_ONESHOT != 0 {
            return None;
        }
        if self.flags & EV_DISPATCH != 0 {
            self.enabled = false;
        }
        Some(self)
    }

    /// The event as the caller gets it.
    pub(super) fn event(&self, name: Name, flags: u16, fflags: u32, data: i64) -> kevent {
        kevent {
            ident: name.1,
            filter: name.0,
            flags: self.flags | flags,
            fflags,
            data,
            udata: ptr::with_exposed_provenance_mut(self.udata),
            ext: self.ext,
        }
    }
}
