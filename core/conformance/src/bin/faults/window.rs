//! The time in which system calls fail.

use evserver_conformance::NotPassed;
use evserver_conformance::process::{Attached, Call, Server};

use crate::case::Fault;

/// Opened when the faults may begin, closed when they must be over.
pub struct Window {
    attached: Option<Attached>,
    open: bool,
    /// A client had to wait until it was closed.
    pub waited: bool,
}

/// What was seen while it was open.
pub struct Seen {
    pub calls: Vec<Call>,
    /// Lines of strace's: as many as there were calls, or a few more.
    pub lines: usize,
    pub injected: usize,
}

impl Window {
    /// A window in which nothing fails.
    pub fn none() -> Window {
        Window { attached: None, open: false, waited: false }
    }

    /// From now on calls fail, or, without a fault, are written down: of one thread, or of all.
    pub fn open(server: &Server, fault: Option<&Fault>, thread: Option<u32>) -> Result<Window, NotPassed> {
        let attached = match fault {
            Some(fault) => server.attach(&["-e", &fault.injection(1)], thread)?,
            None => server.attach(&[], thread)?,
        };
        Ok(Window { attached: Some(attached), open: true, waited: false })
    }

    /// A client waits: nothing fails any more.
    pub fn close_since_one_waits(&mut self) {
        self.waited |= self.open;
        // A tracer that does not go shows: the client waits on.
        let _ = self.close();
    }

    /// Nothing fails any more.
    pub fn close(&mut self) -> Result<(), NotPassed> {
        match &mut self.attached {
            Some(attached) if self.open => {
                self.open = false;
                attached.detach()
            }
            _ => Ok(()),
        }
    }

    /// Closes it and says what was seen.
    pub fn seen(&mut self) -> Result<Seen, NotPassed> {
        self.close()?;
        match &self.attached {
            Some(attached) => {
                let trace = attached.trace();
                Ok(Seen { calls: trace.calls_since(0)?, lines: trace.lines()?, injected: trace.injected()? })
            }
            None => Ok(Seen { calls: Vec::new(), lines: 0, injected: 0 }),
        }
    }
}
