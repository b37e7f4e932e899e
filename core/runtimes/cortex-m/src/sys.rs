//! All that is `unsafe`: the stack is painted, and looked at for how far the paint is gone; and a fault is an end.

use core::ptr;

use cortex_m::register::msp;
use cortex_m_rt::{ExceptionFrame, exception};

/// What memory does not hold by chance.
const PAINT: u32 = 0x5eed_c0de;

/// Bytes below the stack pointer that are not painted: the compiler may read the stack pointer before it makes the
/// frame of `paint_stack`.
const FRAME_BYTES: usize = 64;

unsafe extern "C" {
    /// Where the statics end and the stack may reach to: a symbol of cortex-m-rt's linker script (its documentation,
    /// "`memory.x`"). It has an address and no value.
    static mut __sheap: u32;
}

/// The lowest word of the stack.
fn bottom() -> *mut u32 {
    &raw mut __sheap
}

/// Paints the stack that is not in use, and says where that begins.
#[inline(never)]
pub fn paint_stack() -> usize {
    let top = msp::read() as usize - FRAME_BYTES;
    let mut word = bottom();
    while (word as usize) < top {
        // SAFETY: these words lie between the statics and the stack in use (Armv7-M Architecture Reference Manual,
        // B1.4.1: the stack grows down from MSP), there is no heap, and no interrupt is enabled: nobody else has them.
        unsafe { ptr::write_volatile(word, PAINT) };
        word = word.wrapping_add(1);
    }
    top
}

/// Bytes from `top` down to the lowest word of the stack that lost its paint.
#[inline(never)]
pub fn stack_used(top: usize) -> usize {
    let mut word = bottom();
    // SAFETY: as in `paint_stack`, and aligned, since the linker script aligns `__sheap` to 4 bytes.
    while (word as usize) < top && unsafe { ptr::read_volatile(word) } == PAINT {
        word = word.wrapping_add(1);
    }
    top + FRAME_BYTES - word as usize
}

/// A fault of the processor, such as a stack that ran into what is not memory: said, not waited in for ever.
// SAFETY: cortex-m-rt asks for `unsafe` since a fault may find anything in any state ("Attribute exception", HardFault);
// this one looks at nothing but the frame that the processor made.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("hard fault at {:#x}", frame.pc());
}
