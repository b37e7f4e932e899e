//! The signals of the program.

#[cfg(unix)]
mod ignored;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::obey;
#[cfg(windows)]
pub use windows::obey;
