//! The memory behind a table, lent by whoever has some.

use super::list::Links;

/// Memory for a table of entries: a static array on a microcontroller, blocks that are added on a server.
pub trait Storage<E> {
    /// How many slots there are at present.
    fn capacity(&self) -> u32;

    /// The slot with this index; `None` behind the capacity.
    fn slot(&self, index: u32) -> Option<&Slot<E>>;

    /// The slot with this index; `None` behind the capacity.
    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<E>>;

    /// Adds slots behind the present ones; says whether there are more now.
    fn grow(&mut self) -> bool {
        false
    }
}

/// Room for one entry, with its links in the table's lists.
#[derive(Debug)]
pub struct Slot<E> {
    pub(super) entry: Option<E>,
    /// How often the slot was vacated: half of a token.
    pub(super) generation: u32,
    pub(super) links: Links,
}

impl<E> Slot<E> {
    /// A vacant slot. `const`, so that an array of them can be a static.
    pub const fn new() -> Self {
        Self { entry: None, generation: 0, links: Links::new() }
    }
}

impl<E> Default for Slot<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Storage<E> for [Slot<E>] {
    fn capacity(&self) -> u32 {
        u32::try_from(self.len()).unwrap_or(u32::MAX)
    }

    fn slot(&self, index: u32) -> Option<&Slot<E>> {
        self.get(index as usize)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<E>> {
        self.get_mut(index as usize)
    }
}

impl<E, const K: usize> Storage<E> for [Slot<E>; K] {
    fn capacity(&self) -> u32 {
        self.as_slice().capacity()
    }

    fn slot(&self, index: u32) -> Option<&Slot<E>> {
        self.get(index as usize)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<E>> {
        self.get_mut(index as usize)
    }
}

impl<E, S: Storage<E> + ?Sized> Storage<E> for &mut S {
    fn capacity(&self) -> u32 {
        (**self).capacity()
    }

    fn slot(&self, index: u32) -> Option<&Slot<E>> {
        (**self).slot(index)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<E>> {
        (**self).slot_mut(index)
    }

    fn grow(&mut self) -> bool {
        (**self).grow()
    }
}
