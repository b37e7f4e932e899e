//! Protocols that other programs speak, each on every shell of evserver.
//!
//! | module | what it shows |
//! |---|---|
//! | [`resp`] | a Redis subset: counted bodies, replies larger than the buffer, speed |
//! | [`smtp_sink`] | takes mail: strict CR LF, a body in lines, limits |
//! | [`chat`] | lines go to everybody else: server push, from any loop |
//! | [`hash`] | answers that come later, from a pool of threads |
//!
//! A program of the same name runs each on the shell that `--shell` names; [`shells`] is how:
//!
//! ```sh
//! cargo run --release -p evserver-examples --bin resp -- --shell threads 6379
//! ```
#![forbid(unsafe_code)]

pub mod chat;
pub mod hash;
pub mod resp;
pub mod shells;
pub mod smtp_sink;
