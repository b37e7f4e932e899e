//! What the shells of evserver share and what needs an operating system: the command line, listening sockets, lines
//! on standard output, the report, and the handle that stops a server.
//!
//! Everything here builds on Linux, the BSDs, macOS and Windows, and nothing here is `unsafe`. What decides how a
//! connection behaves is in `evserver-core`, which knows no system at all.
#![forbid(unsafe_code)]

mod address;
mod cli;
mod descriptors;
#[cfg(unix)]
pub mod event_loop;
mod handle;
mod listen;
mod moved;
mod pool;
mod program;
mod reason;
mod report;
pub mod say;
mod seconds;
mod source;
mod stop;
mod table;
mod waker;
mod work;

pub use address::{AddressError, ListenAddress};
pub use cli::{CommonArgs, DEFAULT_BACKLOG, DEFAULT_PORT, LoopArgs, parse, parse_from};
pub use descriptors::raise_descriptor_limit;
pub use handle::{Control, Handle, Job, Outcome, Peer};
pub use listen::{ListenError, ListenOptions, Listening, listen, listen_all, listen_for_loops};
pub use moved::moved;
pub use pool::Pool;
pub use program::program;
pub use reason::reason;
pub use report::{Report, live_line};
pub use seconds::parse_milliseconds;
pub use source::Source;
pub use stop::{Requests, StopHandle};
pub use table::Table;
pub use waker::{WakeSource, Waker};
pub use work::{Submitted, WorkPanicked, WorkPool};
