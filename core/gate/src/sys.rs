//! The panic handler: it calls a function that nobody defines.

use core::panic::PanicInfo;

unsafe extern "C" {
    /// Defined nowhere, so that a build in which anything can reach it does not link.
    fn a_panic_path_is_linked() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: no such function is ever linked, so this is never run.
    unsafe { a_panic_path_is_linked() }
}
