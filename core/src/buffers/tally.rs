//! How much work the input buffers of this thread have done, for tests that bound it.

use core::cell::Cell;

std::thread_local! {
    static SEARCHED: Cell<usize> = const { Cell::new(0) };
    static MOVED: Cell<usize> = const { Cell::new(0) };
}

/// So many bytes were searched for the end of a line.
pub fn searched(n: usize) {
    SEARCHED.set(SEARCHED.get() + n);
}

/// So many bytes were moved to the front of their buffer.
pub fn moved(n: usize) {
    MOVED.set(MOVED.get() + n);
}

/// Bytes searched and bytes moved since this was asked last.
pub fn take() -> (usize, usize) {
    (SEARCHED.take(), MOVED.take())
}
