//! Being written.
#![no_std]
#![forbid(unsafe_code)]
mod counts;
pub use counts::Counts;
