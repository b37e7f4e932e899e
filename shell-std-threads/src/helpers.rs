//! The threads beside those of the connections, three to a server.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use evserver_core::{Protocol, Token};
use evserver_hosted::{Handle, StopHandle, WakeSource, live_line, say};

use crate::common::Phase;
use crate::ledger::Complaint;
use crate::shared::Shared;

/// Between two tries of something for which there is no memory.
const RETRY: Duration = Duration::from_secs(1);

/// What the stop handle asks of the thread that accepts.
pub enum Asked {
    /// Take in who waits, answer what was received, end.
    Drain,
    /// End now.
    StopNow,
    /// The stop handle is out of order.
    Failed(io::Error),
}

/// Starts a helper. It ends by itself after the server is over, and is not waited for.
pub fn start<P: Protocol + Send + 'static>(
    name: &str,
    shared: &Arc<Shared<P>>,
    work: impl FnOnce(&Shared<P>) + Send + 'static,
) -> io::Result<()> {
    let shared = Arc::clone(shared);
    thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared)).map(drop)
}

/// Hears what is asked through the stop handle.
pub fn listen<P: Protocol>(shared: &Shared<P>, stop: &StopHandle, ask: &mpsc::Sender<Asked>) {
    loop {
        let requests = stop.wait();
        if shared.common.phase() == Phase::Over {
            return;
        }
        let (asked, last) = match requests {
            Err(error) => (Some(Asked::Failed(error)), true),
            Ok(requests) => {
                if requests.report {
                    let counts = shared.common.ledger().counts();
                    say::warn(live_line(&counts));
                }
                let asked =
                    if requests.stop_now { Some(Asked::StopNow) } else { requests.drain.then_some(Asked::Drain) };
                (asked, requests.stop_now)
            }
        };
        if let Some(asked) = asked {
            // Nobody hears it any more when the server is over.
            let _ = ask.send(asked);
            shared.common.door.ring();
        }
        if last {
            return;
        }
    }
}

/// Brings connections what other threads have for them.
pub fn bring<P: Protocol>(shared: &Shared<P>, handle: &Handle<P>, woken: &WakeSource) {
    while shared.common.phase() != Phase::Over {
        if woken.wait(None).is_err() {
            // poll(2) has no memory for one descriptor; a later try may find some.
            thread::sleep(RETRY);
        }
        woken.clear();
        while let Some(job) = handle.next() {
            // The functions that come with a job are somebody else's.
            if catch_unwind(AssertUnwindSafe(|| shared.work(job))).is_err() {
                shared.common.complain(Complaint::ProtocolPanicked);
            }
        }
    }
}

/// Wakes the helpers that wait for somebody to ask something, so that they see that the server is over.
pub fn dismiss<P>(stop: &StopHandle, handle: &Handle<P>) {
    // It asks for a line of counts; who hears it looks at the phase first.
    stop.report();
    // It is for nobody. From then on nothing waits for a thread that is gone.
    handle.push(Token::default(), []);
    handle.close();
}
