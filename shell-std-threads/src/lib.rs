//! evserver on any system: one blocking thread a connection.
//!
//! [`serve`] runs any [`Protocol`], by the same core and the same rules as the shells that are
//! event loops; the binary `evserver-threads` runs the numbered echo with it. Everything here is safe Rust over the
//! standard library's sockets; what it needs besides is poll(2), in the safe form that rustix gives it on Unix and on
//! Windows alike. A whole server:
//!
//! ```no_run
//! use evserver_threads::{Next, Options, Protocol, Reply, listen, serve};
//!
//! struct Shout;
//!
//! impl Protocol for Shout {
//!     fn room(&self, len: usize) -> usize {
//!         len + 1
//!     }
//!
//!     fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
//!         match reply.put(&[&line.to_ascii_uppercase()[..], b"\n"].concat()) {
//!             Ok(()) => Next::Line,
//!             Err(_) => Next::Close,
//!         }
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let listeners = listen(&["127.0.0.1:8080".parse()?], &Default::default())?;
//!     println!("{}", serve(listeners, Options::default(), |_| Shout)?);
//!     Ok(())
//! }
//! ```
//!
//! # The threads
//!
//! | thread | waits for | how many |
//! |---|---|---|
//! | the one that calls `serve` | clients of the listeners, and its bell | 1 |
//! | of a connection | its socket, a deadline, a bell for all; or, while an answer comes from elsewhere, that | 1 each |
//! | stop handle | what is asked through the [`StopHandle`] | 1 |
//! | pushes | what other threads have for connections, through a [`Handle`] | 1 |
//! | porch | sockets of refused clients, and what a push brought about that its thread does not wait for | 1 |
//!
//! A connection's thread blocks in poll(2), not in a receive, and so it can be told of a shutdown without touching its
//! socket: a socket whose receiving side is shut to wake the thread resets its peer on Linux and Windows if bytes are
//! still under way, and loses what was received on the BSDs, so that the last replies would be lost (rule 5). It costs
//! one system call more a reply: poll, receive, send. In return a waiting thread needs no buffers, its timeouts are
//! exact, and none of them is set by a system call.
//!
//! # Who may wait for whom
//!
//! A connection is behind a lock that is held while its protocol is called and while bytes move (its socket never
//! blocks), and never while a thread waits. Who holds it takes no other lock but leaves: the counts, the pool of
//! buffers, the table of connections, the queue of a [`Handle`], the porch's list. Each leaf is held for a few
//! instructions during which nothing is called. No thread has two connections in hand at a time: what one protocol has
//! for another connection goes through the queue and is done by the thread for pushes, which holds nothing when it
//! takes it. So there is no circle in which threads could wait for each other. A protocol that blocks holds up its own
//! connection, and the threads for pushes and of the porch if they have something for that connection.
//!
//! # Limits
//!
//! [`Settings::max_connections`] is the number of connections served, as in every shell; there are four threads
//! more than connections, whatever the number of clients that are refused. When the system starts no more threads (its
//! limit of processes, of memory, or of mappings, where Linux's default of 65,530 is for 15,870 connections) the client
//! for whom there is none is told `server full` and closed as if a limit had been set, and nobody else notices.
//! When descriptors run out, clients wait in the listen queue.
//!
//! A thread's stack is [`Options::stack_bytes`]; it is address space, of which a page or two is used. A debug build of
//! the core needs 40 KiB, a panic with its backtrace included; [`DEFAULT_STACK_BYTES`] leaves a protocol more than
//! twice that.
//!
//! # What is different
//!
//! * While an answer comes from elsewhere ([`Next::Later`]) nobody looks at the socket: that the peer has reset the
//!   connection is seen when the answer, or a push, is sent.
//! * A protocol that is called at the end of the time for a shutdown cannot be stopped; `serve` returns a second later
//!   all the same, and its thread ends when the call does.
//! * At the limit of connections a client waits up to 20 ms for a place before it is refused (the first of those that
//!   come together): the thread that accepts may be earlier than the one that is to hear that its client has left.
//! * A stop of the whole process (SIGSTOP, SIGCONT) adds its length to the waits that were under way: Linux has ppoll(2)
//!   go on with what was left, so a limit that passed meanwhile acts up to one wait late. A loop's timer does not.
//! * SIGPIPE is the program's affair: Rust's runtime ignores it, and where the standard library can it asks for none.
#![forbid(unsafe_code)]

mod acceptor;
mod bell;
mod client;
mod clock;
mod common;
mod entry;
mod helpers;
mod ledger;
mod porch;
mod ready;
mod registry;
mod server;
mod shared;
mod socket;
mod threads;
mod turn;

pub use evserver_core::{Limits, Next, NumberedEcho, Protocol, Reply, Settings};
pub use evserver_hosted::{Handle, ListenOptions, Listening, Peer, Report, StopHandle, listen};
pub use server::{Options, serve};
pub use threads::{DEFAULT_STACK_BYTES, LEAST_STACK_BYTES};
