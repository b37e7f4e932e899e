//! The lists, by the number that a slot knows them by. 0 is none.

use super::wheel::BUCKETS;

/// Slots that hold nothing.
pub const FREE: u16 = 1;
/// In order of the idle deadline.
pub const ACTIVE: u16 = 2;
/// Without an idle deadline.
pub const PARKED: u16 = 3;
/// As `ACTIVE`, told of the shutdown and not moved since: told in the order of `ACTIVE`, so in order here too.
pub const DRAIN_ACTIVE: u16 = 4;
/// As `ACTIVE`, told of the shutdown and moved since.
pub const DRAIN_MOVED: u16 = 5;
/// As `PARKED`, told of the shutdown.
pub const DRAIN_PARKED: u16 = 6;
/// In order of the linger deadline.
pub const LINGERING: u16 = 7;
/// In order of the line deadline.
pub const LINE: u16 = 8;
/// With work that no event will announce, in the order in which it came up.
pub const AGAIN: u16 = 9;
/// Without the buffers that they need, in the order in which they came to need them.
pub const STARVED: u16 = 10;

/// The numbers below the wheel's, with 0.
pub const LISTS: usize = 11;

/// The first bucket of the wheel; the others follow.
pub const WHEEL: u16 = 16;

const _: () = assert!(STARVED as usize + 1 == LISTS && LISTS <= WHEEL as usize);
const _: () = assert!(WHEEL as usize + BUCKETS <= u16::MAX as usize);
