//! What the shell asks of the system.

#[cfg(all(target_os = "linux", feature = "emulated-kqueue"))]
pub mod emulated;
