//! What the Linux server costs, in things that can be counted: system calls, instructions, bytes, wake-ups.
//!
//! The counts are those of the server as it ships, so it is built for release first. What a test counts with (strace,
//! valgrind) may be missing: then it says so, and where CI runs it fails.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod evserver;
mod idle;
mod instructions;
