//! The shell itself: who does what.

use std::io;
use std::sync::{Arc, mpsc};

use evserver_core::{Protocol, Settings};
use evserver_hosted::{Handle, Listening, Peer, Report, StopHandle};

use crate::acceptor::Acceptor;
use crate::common::Phase;
use crate::helpers;
use crate::shared::Shared;
use crate::threads::{DEFAULT_STACK_BYTES, Threads};

/// How to serve.
pub struct Options {
    /// Limits of time and number. There is no poller that could be edge-triggered.
    pub settings: Settings,
    /// Stops the server from elsewhere; a clone stays with the caller.
    pub stop: Option<StopHandle>,
    /// Stack of each connection's thread, in bytes; at least [`LEAST_STACK_BYTES`](crate::LEAST_STACK_BYTES).
    pub stack_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { settings: Settings::default(), stop: None, stack_bytes: DEFAULT_STACK_BYTES }
    }
}

/// Serves the clients of `listeners` until it is stopped; `make` makes the protocol of each.
///
/// Accepts, and calls `make`, on this thread; each client has a thread of its own. [`StopHandle::drain`] has it answer
/// what was received, flush, and return.
///
/// # Errors
///
/// Those of starting the first threads, of poll(2) and of the stop handle; clients' errors are theirs alone.
pub fn serve<P, F>(mut listeners: Vec<Listening>, options: Options, make: F) -> io::Result<Report>
where
    P: Protocol + Send + 'static,
    F: FnMut(&Peer<P>) -> P,
{
    let Options { settings, stop, stack_bytes } = options;
    // An accept that waits would hear no bell.
    listeners.iter_mut().try_for_each(Listening::never_wait)?;
    let stop = stop.map_or_else(StopHandle::new, Ok)?;
    let shared = Arc::new(Shared::new(&settings)?);
    let (handle, woken) = Handle::pair()?;
    let (ask, asked) = mpsc::channel();
    let helpers_started = || {
        let (theirs, jobs) = (stop.clone(), handle.clone());
        helpers::start("stop handle", &shared, move |shared| helpers::listen(shared, &theirs, &ask))?;
        helpers::start("pushes", &shared, move |shared| helpers::bring(shared, &jobs, &woken))?;
        helpers::start("porch", &shared, |shared| shared.porch.run(&shared.common))
    };
    let served = helpers_started().and_then(|()| {
        let threads = Threads::new(stack_bytes);
        let (shared, handle) = (Arc::clone(&shared), handle.clone());
        Acceptor { shared, listeners, threads, handle, asked, drain_ms: settings.drain_ms, make }.run()
    });
    // Whatever is left ends by itself; it is not waited for.
    shared.end();
    helpers::dismiss(&stop, &handle);
    debug_assert!(shared.common.phase() == Phase::Over);
    served
}
