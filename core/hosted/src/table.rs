//! Memory for a table of connections that grows in blocks.

use evserver_core::{Slot, Storage};

/// Slots of a block: about 180 KiB, so that an empty server costs little and a million slots are a few
/// thousand allocations. Blocks never move, and go when the server goes.
const BLOCK_SLOTS: u32 = 1024;

/// Slots in blocks that are added when the ones before are in use.
#[derive(Debug)]
pub struct Table<E> {
    blocks: Vec<Box<[Slot<E>]>>,
}

impl<E> Table<E> {
    /// A table without slots.
    pub const fn new() -> Self {
        Self { blocks: Vec::new() }
    }
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Storage<E> for Table<E> {
    fn capacity(&self) -> u32 {
        self.blocks.len() as u32 * BLOCK_SLOTS
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<E>> {
        self.blocks.get((index / BLOCK_SLOTS) as usize)?.get((index % BLOCK_SLOTS) as usize)
    }

    #[inline]
    fn slot_mut(&mut self, index: u32) -> Option<&mut Slot<E>> {
        self.blocks.get_mut((index / BLOCK_SLOTS) as usize)?.get_mut((index % BLOCK_SLOTS) as usize)
    }

    fn grow(&mut self) -> bool {
        // The last index is the core's word for "none", so the last block is never used up.
        if self.blocks.len() as u32 >= u32::MAX / BLOCK_SLOTS || self.blocks.try_reserve(1).is_err() {
            return false;
        }
        let mut block = Vec::new();
        if block.try_reserve_exact(BLOCK_SLOTS as usize).is_err() {
            return false;
        }
        block.resize_with(BLOCK_SLOTS as usize, Slot::new);
        self.blocks.push(block.into_boxed_slice());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn it_grows_by_blocks_in_which_each_slot_is_one_of_its_own() {
        let mut table = Table::<u64>::new();
        assert!(table.slot(0).is_none());
        assert!(table.grow());
        let first: *const _ = table.slot(0).unwrap();
        assert!(table.grow());
        assert!(std::ptr::eq(first, table.slot(0).unwrap()), "it never moves");
        assert_eq!(table.capacity(), 2 * BLOCK_SLOTS);
        let slots: Vec<*const Slot<u64>> =
            (0..2 * BLOCK_SLOTS).map(|index| std::ptr::from_ref(table.slot_mut(index).unwrap())).collect();
        assert!((0..).zip(&slots).all(|(index, &slot)| std::ptr::eq(slot, table.slot(index).unwrap())));
        assert_eq!(slots.iter().collect::<HashSet<_>>().len(), slots.len());
        assert!(table.slot(2 * BLOCK_SLOTS).is_none());
    }

    #[test]
    fn it_has_room_for_more_than_a_million() {
        let mut table = Table::<()>::new();
        while table.capacity() <= 1_100_000 {
            assert!(table.grow(), "at {}", table.capacity());
        }
    }
}
