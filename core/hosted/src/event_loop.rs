//! The loop that the readiness shells share: what happens around a wait, whatever the system call behind it.

mod host;
mod shared;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::resume_unwind;
use std::thread;

use evserver_core::{Accept, BUFFER_BYTES, Client, Counts, Interest, Protocol, Server, Settings, Time, Transport};

use crate::handle::{Control, Handle, Job, Peer};
use crate::listen::Listening;
use crate::report::{Report, live_line};
use crate::say;
use crate::source::Source;
use crate::stop::StopHandle;
use crate::table::Table;
use crate::waker::WakeSource;
use host::LoopHost;
use shared::Shared;

/// Work from other threads that is done in one turn; more waits for the next one (rule 9).
const JOBS_IN_A_TURN: usize = 256;

/// What a poller reports of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Where it came from.
    pub source: Source,
    /// A receive or an accept may bring something.
    pub readable: bool,
    /// A send may take something.
    pub writable: bool,
    /// An error, or an end in both directions, whether asked for or not.
    pub hangup: bool,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalRequest {
    /// SIGINT, SIGTERM or SIGHUP: answer, flush, end; a second one: end at once.
    Stop,
    /// SIGUSR1 (and SIGINFO): a line of live counts.
    Report,
}

/// The system calls of a readiness shell.
pub trait Backend {
    /// A connected socket.
    type Socket: Transport;

    /// Begins to watch a client.
    fn watch(&mut self, socket: &Self::Socket, source: Source, interest: Interest) -> io::Result<()>;
    /// Changes what is watched for.
    fn rewatch(&mut self, socket: &Self::Socket, source: Source, interest: Interest) -> io::Result<()>;
    /// Ends the watch, before the socket is closed.
    fn unwatch(&mut self, socket: &Self::Socket, source: Source);
    /// Begins to watch, by level, for input on something that is not a client.
    fn watch_input(&mut self, fd: BorrowedFd<'_>, source: Source) -> io::Result<()>;
    /// Ends such a watch.
    fn unwatch_input(&mut self, fd: BorrowedFd<'_>, source: Source);
    /// Accepts a client, non-blocking and close-on-exec.
    fn accept(&mut self, listener: BorrowedFd<'_>) -> Accept<Self::Socket, SocketAddr>;
    /// Makes sure that a wait ends at `deadline` at the latest.
    fn arm(&mut self, deadline: Option<Time>) -> io::Result<()>;
    /// The timer was an event.
    fn timer_fired(&mut self);
    /// What the next signal that arrived asks for.
    fn next_signal(&mut self) -> Option<SignalRequest>;
    /// Waits for events, or only looks; a signal handler that ran is no event.
    fn wait(&mut self, sleep: bool) -> io::Result<()>;
    /// An event of the last wait, by its number.
    fn event(&self, number: usize) -> Option<Event>;
    /// The monotonic clock, in milliseconds rounded down.
    fn now(&self) -> Time;
}

/// How many loops serve, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Limits of time and number, and the mode of the poller.
    pub settings: Settings,
    /// Loops, each on a thread of its own, with its own listeners, table and buffers.
    pub loops: usize,
    /// Stops the server from elsewhere.
    pub stop: StopHandle,
}

/// Serves until it is stopped: one loop on `first` in this thread, the others on what `other` makes, in threads of their
/// own. The first one has the signals and the stop handle and tells the others.
///
/// # Errors
///
/// Those of the pollers and the timers, of [`Listening::another`] where there are several loops, and of starting
/// threads; clients' errors are theirs alone. An error of one loop ends all.
pub fn run<B, P, F>(
    first: B,
    other: impl Fn() -> io::Result<B>,
    mut listeners: Vec<Listening>,
    setup: &Setup,
    make: F,
) -> io::Result<Report>
where
    B: Backend + Send,
    P: Protocol,
    F: Fn(&Peer<P>) -> P + Sync,
{
    // An accept that waits would hold up the whole loop.
    listeners.iter_mut().try_for_each(Listening::never_wait)?;
    let (first_handle, first_woken) = Handle::pair()?;
    let shared = Shared::new(setup.loops);
    // All that takes descriptors, before the first client could take the last of them.
    let mut others = Vec::new();
    for _ in 1..setup.loops {
        let theirs = listeners.iter().map(Listening::another).collect::<io::Result<Vec<_>>>()?;
        others.push((other()?, theirs, Handle::pair()?));
    }
    let handles: Vec<_> = others.iter().map(|(_, _, (handle, _))| handle.clone()).collect();
    let (make, shared, first_handle) = (&make, &shared, &first_handle);
    thread::scope(|scope| {
        let ending = EndOthers(&handles);
        let mut threads = Vec::new();
        for (number, (backend, listeners, (handle, woken))) in (1..).zip(others) {
            let serve = move || {
                let ended = Ended(first_handle);
                let seat = Seat { number, shared, stop: None, others: &[], handle, woken };
                let result = serve(backend, listeners, setup.settings, seat, make);
                drop(ended);
                result
            };
            threads.push(thread::Builder::new().name(format!("loop {number}")).spawn_scoped(scope, serve)?);
        }
        let handle = first_handle.clone();
        let seat =
            Seat { number: 0, shared, stop: Some(&setup.stop), others: &handles, handle, woken: first_woken };
        let at_once = serve(first, listeners, setup.settings, seat, make);
        // Whatever ended the first one, none stays.
        drop(ending);
        let mut failed = at_once.as_ref().err().map(|error| io::Error::new(error.kind(), error.to_string()));
        for thread in threads {
            match thread.join() {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => failed = Some(error),
                Err(panic) => resume_unwind(panic),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Report { counts: shared.counts(), at_once: at_once? }),
        }
    })
}

/// Ends the other loops when the first one does, however it does.
struct EndOthers<'a, P>(&'a [Handle<P>]);

impl<P> Drop for EndOthers<'_, P> {
    fn drop(&mut self) {
        for handle in self.0 {
            handle.control(Control::StopNow);
        }
    }
}

/// Tells the first loop that this one has ended, however it did.
struct Ended<'a, P>(&'a Handle<P>);

impl<P> Drop for Ended<'_, P> {
    fn drop(&mut self) {
        self.0.control(Control::LoopEnded);
    }
}

/// What a loop has beside its backend: its place among the others.
struct Seat<'a, P> {
    number: usize,
    shared: &'a Shared,
    /// The first loop's alone.
    stop: Option<&'a StopHandle>,
    /// The other loops, which the first one tells what it is told.
    others: &'a [Handle<P>],
    handle: Handle<P>,
    woken: WakeSource,
}

/// Runs one loop to its end; says whether it was told to end at once.
fn serve<B, P, F>(
    backend: B,
    listeners: Vec<Listening>,
    settings: Settings,
    seat: Seat<'_, P>,
    make: &F,
) -> io::Result<bool>
where
    B: Backend,
    P: Protocol,
    F: Fn(&Peer<P>) -> P,
{
    let mut host = LoopHost::new(backend, listeners, seat.shared, seat.handle.clone(), make)?;
    if let Some(stop) = seat.stop {
        host.backend.watch_input(stop.source().as_fd(), Source::Stop)?;
    }
    host.backend.watch_input(seat.woken.as_fd(), Source::Jobs)?;
    let server = Server::new(Table::new(), settings);
    let others_running = seat.others.len();
    let mut event_loop = EventLoop {
        host,
        server,
        seat,
        others_running,
        published: Counts::new(),
        has_jobs: false,
        signals: 0,
        at_once: false,
    };
    let mut result = Ok(());
    while result.is_ok() && !event_loop.is_over() {
        result = event_loop.turn();
    }
    event_loop.server.abandon(&mut event_loop.host);
    event_loop.seat.handle.close();
    result.map(|()| event_loop.at_once)
}

/// A server over a table of clients that grows.
type GrowingServer<H> = Server<H, Table<Client<H, BUFFER_BYTES>>>;

struct EventLoop<'a, B: Backend, P: Protocol, F: Fn(&Peer<P>) -> P> {
    host: LoopHost<'a, B, P, F>,
    server: GrowingServer<LoopHost<'a, B, P, F>>,
    seat: Seat<'a, P>,
    others_running: usize,
    /// What the others were last shown of its counts.
    published: Counts,
    /// There may be work from other threads.
    has_jobs: bool,
    /// Signals to stop that came.
    signals: u32,
    at_once: bool,
}

impl<B: Backend, P: Protocol, F: Fn(&Peer<P>) -> P> EventLoop<'_, B, P, F> {
    /// The first loop waits for the others, since it has the signals.
    fn is_over(&self) -> bool {
        self.at_once || (self.server.is_done() && self.others_running == 0)
    }

    /// One wait and everything that follows from it.
    fn turn(&mut self) -> io::Result<()> {
        let sleep = !(self.server.must_not_sleep() || self.has_jobs);
        if sleep {
            self.host.backend.arm(self.server.next_deadline())?;
        }
        self.host.backend.wait(sleep)?;
        let now = self.host.backend.now();
        let mut number = 0;
        while let Some(event) = self.host.backend.event(number) {
            number += 1;
            match event.source {
                Source::Client(token) => {
                    self.server.event(&mut self.host, token, event.readable, event.writable, event.hangup, now);
                }
                Source::Listener(listener) => self.server.accept(&mut self.host, listener, now),
                Source::Timer => self.host.backend.timer_fired(),
                Source::Signals => self.signals(now),
                Source::Stop => self.requests(now),
                Source::Jobs => {
                    self.seat.woken.clear();
                    self.has_jobs = true;
                }
            }
        }
        if self.has_jobs {
            self.jobs(now);
        }
        self.server.run(&mut self.host, now);
        self.server.end_turn(now, self.host.backend.now());
        if self.published != *self.server.counts() {
            self.published = *self.server.counts();
            self.seat.shared.publish(self.seat.number, &self.published);
        }
        Ok(())
    }

    fn signals(&mut self, now: Time) {
        while let Some(request) = self.host.backend.next_signal() {
            match request {
                SignalRequest::Stop if self.signals > 0 => self.at_once = true,
                SignalRequest::Stop => {
                    self.signals += 1;
                    self.drain(now);
                }
                SignalRequest::Report => self.say_counts(),
            }
        }
    }

    fn requests(&mut self, now: Time) {
        let Some(stop) = self.seat.stop else { return };
        let requests = stop.take();
        self.at_once |= requests.stop_now;
        if requests.drain {
            self.drain(now);
        }
        if requests.report {
            self.say_counts();
        }
    }

    /// Begins the shutdown, in the order of rule 12: a last sweep of accepts, then the listeners close.
    fn drain(&mut self, now: Time) {
        for other in self.seat.others {
            other.control(Control::Drain);
        }
        let listeners = self.host.listeners();
        self.server.drain(&mut self.host, listeners, now);
        self.host.close_listeners();
    }

    /// Does what other threads asked for.
    fn jobs(&mut self, now: Time) {
        for _ in 0..JOBS_IN_A_TURN {
            match self.seat.handle.next() {
                Some(Job::Push(token, bytes, outcome)) => {
                    let taken = self.server.push(&mut self.host, token, &bytes, now).is_ok();
                    if let Some(outcome) = outcome {
                        self.server.tell(&mut self.host, now, || outcome(taken));
                    }
                }
                // A late answer is dropped: whom it was for is gone or has been told that it timed out.
                Some(Job::Complete(ticket, answer)) => {
                    let _ = self.server.complete(&mut self.host, ticket, now, answer);
                }
                Some(Job::Control(Control::Drain)) => self.drain(now),
                Some(Job::Control(Control::StopNow)) => self.at_once = true,
                Some(Job::Control(Control::LoopEnded)) => self.loop_ended(now),
                None => {
                    self.has_jobs = false;
                    return;
                }
            }
        }
    }

    /// Another loop has ended. If that is for an error, all end.
    fn loop_ended(&mut self, now: Time) {
        self.others_running = self.others_running.saturating_sub(1);
        self.drain(now);
    }

    fn say_counts(&self) {
        self.seat.shared.publish(self.seat.number, self.server.counts());
        say::warn(live_line(&self.seat.shared.counts()));
    }
}
