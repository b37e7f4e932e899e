//! The kqueue shell.

pub mod sys;
