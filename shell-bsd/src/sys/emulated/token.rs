//! The 64 bits that epoll hands back with an event.

use libc::c_int;

/// Set for a counter, clear for a descriptor of the caller's.
const COUNTER: u64 = 1 << 63;

/// Bits of the number that tells registrations of one descriptor apart; it
/// repeats after two thousand million of them.
const SERIAL_MASK: u32 = u32::MAX >> 1;

/// Whose event it is.
pub(super) enum Token {
    Descriptor(c_int),
    Counter(c_int),
    Notice,
}

impl Token {
    /// The token of the descriptor that calls waiters away. No other token has a
    /// descriptor of -1.
    pub(super) const NOTICE: u64 = u64::MAX;
}

impl From<u64> for Token {
    fn from(token: u64) -> Self {
        // The lower half is the descriptor.
        let fd = token as u32 as c_int;
        match token {
            Self::NOTICE => Self::Notice,
            _ if token & COUNTER != 0 => Self::Counter(fd),
            _ => Self::Descriptor(fd),
        }
    }
}

/// Makes tokens, each one new.
#[derive(Default)]
pub(super) struct Tokens {
    serial: u32,
}

impl Tokens {
    pub(super) fn descriptor(&mut self, fd: c_int) -> u64 {
        self.serial = self.serial.wrapping_add(1) & SERIAL_MASK;
        u64::from(self.serial) << 32 | u64::from(fd as u32)
    }

    pub(super) fn counter(&mut self, fd: c_int) -> u64 {
        COUNTER | self.descriptor(fd)
    }
}
