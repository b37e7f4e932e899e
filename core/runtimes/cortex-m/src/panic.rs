//! Where a panic goes: said on the host's console, then the end. The core has none; what drives it may.

use core::panic::PanicInfo;

use cortex_m_semihosting::{debug, hprintln};

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("FAILED {}", info);
    loop {
        debug::exit(debug::EXIT_FAILURE);
    }
}
