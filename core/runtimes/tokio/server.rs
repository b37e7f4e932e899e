//! Accepts clients, and ends when it is told to.

use std::future::{pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use evserver_core::{Accept, Connection, NumberedEcho, REFUSED_AT_ONCE, Settings};
use evserver_hosted::{Listening, Report, live_line, say};
use evserver_runtimes::accepted;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep_until};

use crate::connection;
use crate::shared::{Phase, Place, Shared};
use crate::signals::{Request, Signals};
use crate::wire::Wire;

/// What a client is told when the server is full.
const FULL: &[u8] = b"server full\n";

/// How long accepting rests for lack of descriptors when no connection closes.
const REST: Duration = Duration::from_secs(1);

/// Clients taken in when the end begins: more than any usual listen queue holds.
const SWEEP: usize = 65_536;

/// Serves until a signal ends it.
pub async fn serve(listeners: Vec<Listening>, settings: Settings, mut signals: Signals) -> io::Result<Report> {
    let listeners = listeners.into_iter().map(|listening| TcpListener::from_std(listening.listener));
    let mut listeners = listeners.collect::<io::Result<Vec<_>>>()?;
    let shared = Rc::new(Shared::new(settings.limits));
    let mut rests_until = None;
    let mut ends_at = None;
    while ends_at.is_none() || !shared.is_empty() {
        let accepting = rests_until.is_none() && shared.refused.get() < REFUSED_AT_ONCE;
        select! {
            biased;
            request = signals.next() => match request {
                Request::Report => say::err(&format!("evserver: {}", live_line(&shared.counts.get()))),
                Request::Stop if ends_at.is_some() => {
                    return Ok(Report { counts: shared.counts.get(), at_once: true });
                }
                Request::Stop => {
                    ends_at = Some(Instant::now() + Duration::from_millis(settings.drain_ms.into()));
                    for listener in listeners.drain(..) {
                        sweep(listener, &settings, &shared)?;
                    }
                    shared.phase.send_replace(Phase::Draining);
                }
            },
            () = shared.left.notified() => rests_until = None,
            () = until(rests_until) => rests_until = None,
            () = until(ends_at) => {
                ends_at = Some(Instant::now() + REST);
                shared.phase.send_replace(Phase::Over);
            }
            client = next_client(&mut listeners), if accepting => match client {
                Accept::Client(stream, _) => admit(stream, &settings, &shared),
                Accept::WouldBlock | Accept::Interrupted | Accept::Dropped => {}
                Accept::Exhausted => rests_until = Some(Instant::now() + REST),
            }
        }
    }
    Ok(Report { counts: shared.counts.get(), at_once: false })
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

/// The next client of any listener; the listeners take turns.
async fn next_client(listeners: &mut [TcpListener]) -> Accept<TcpStream, SocketAddr> {
    poll_fn(|context| {
        for at in 0..listeners.len() {
            if let Poll::Ready(result) = listeners[at].poll_accept(context) {
                listeners.rotate_left(at + 1);
                return Poll::Ready(accepted(result));
            }
        }
        Poll::Pending
    })
    .await
}

/// Takes in who waits in the queue, then closes it. The kernel is asked, not the runtime, which knows what its last wait
/// told it.
fn sweep(listener: TcpListener, settings: &Settings, shared: &Rc<Shared>) -> io::Result<()> {
    let listener = listener.into_std()?;
    for _ in 0..SWEEP {
        match accepted(listener.accept()) {
            Accept::Client(stream, _) => {
                stream.set_nonblocking(true)?;
                admit(TcpStream::from_std(stream)?, settings, shared);
            }
            Accept::Interrupted | Accept::Dropped => {}
            Accept::WouldBlock | Accept::Exhausted => break,
        }
    }
    Ok(())
}

/// Makes a task of a client.
fn admit(stream: TcpStream, settings: &Settings, shared: &Rc<Shared>) {
    let open = shared.counts.get().open;
    let refused = settings.max_connections.is_some_and(|limit| open >= limit.into());
    let now = shared.clock.stamp();
    let connection = if refused {
        Connection::refuse(FULL, &shared.limits, now)
    } else {
        Connection::new(NumberedEcho::new(), &shared.limits, now)
    };
    let wire = Wire::new(stream, shared.clock);
    let place = Place::take(Rc::clone(shared), refused);
    let shared = Rc::clone(shared);
    spawn_local(async move {
        let reason = connection::serve(wire, connection, &shared).await;
        place.leave(reason);
    });
}
