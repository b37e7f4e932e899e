//! The panic handler, which calls a function that nobody defines, and how functions are exported.

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

/// Exports functions under their own names, which no other code that is linked here has.
macro_rules! export {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
    )*};
}

pub(crate) use export;
