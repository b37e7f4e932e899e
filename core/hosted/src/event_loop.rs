//! The loop that the readiness shells share: what happens around a wait, whatever the system call behind it.

mod host;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use evserver_core::{Accept, BUFFER_BYTES, Client, Counts, Interest, Protocol, Server, Settings, Time, Transport};

use crate::handle::{Handle, Job, Peer};
use crate::listen::Listening;
use crate::report::{Report, live_line};
use crate::say;
use crate::source::Source;
use crate::stop::StopHandle;
use crate::table::Table;
use crate::waker::WakeSource;
use host::LoopHost;

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

/// Serves until it is stopped.
///
/// # Errors
///
/// Those of the poller and the timer; clients' errors are theirs alone.
pub fn run<B, P, F>(
    backend: B,
    listeners: Vec<Listening>,
    settings: Settings,
    stop: &StopHandle,
    make: F,
) -> io::Result<Report>
where
    B: Backend,
    P: Protocol,
    F: FnMut(&Peer<P>) -> P,
{
    let (handle, woken) = Handle::pair()?;
    let mut host = LoopHost::new(backend, listeners, handle.clone(), make)?;
    host.backend.watch_input(stop.source().as_fd(), Source::Stop)?;
    host.backend.watch_input(woken.as_fd(), Source::Jobs)?;
    let server = Server::new(Table::new(), settings);
    let mut event_loop =
        EventLoop { host, server, stop, handle, woken, has_jobs: false, signals: 0, at_once: false };
    loop {
        event_loop.turn()?;
        if event_loop.at_once || event_loop.server.is_done() {
            return Ok(Report { counts: *event_loop.counts(), at_once: event_loop.at_once });
        }
    }
}

/// A server over a table of clients that grows.
type GrowingServer<H> = Server<H, Table<Client<H, BUFFER_BYTES>>>;

struct EventLoop<'a, B: Backend, P: Protocol, F: FnMut(&Peer<P>) -> P> {
    host: LoopHost<B, P, F>,
    server: GrowingServer<LoopHost<B, P, F>>,
    stop: &'a StopHandle,
    handle: Handle<P>,
    woken: WakeSource,
    /// There may be work from other threads.
    has_jobs: bool,
    /// Signals to stop that came.
    signals: u32,
    at_once: bool,
}

impl<B: Backend, P: Protocol, F: FnMut(&Peer<P>) -> P> EventLoop<'_, B, P, F> {
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
                    self.woken.clear();
                    self.has_jobs = true;
                }
            }
        }
        if self.has_jobs {
            self.jobs(now);
        }
        self.server.run(&mut self.host, now);
        self.server.end_turn(now, self.host.backend.now());
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
        let requests = self.stop.take();
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
        let listeners = self.host.listeners();
        self.server.drain(&mut self.host, listeners, now);
        self.host.close_listeners();
    }

    /// Does what other threads asked for.
    fn jobs(&mut self, now: Time) {
        for _ in 0..JOBS_IN_A_TURN {
            match self.handle.next() {
                Some(Job::Push(token, bytes, outcome)) => {
                    let taken = self.server.push(&mut self.host, token, &bytes, now).is_ok();
                    if let Some(outcome) = outcome {
                        outcome(taken);
                    }
                }
                // A late answer is dropped: whom it was for is gone or has been told that it timed out.
                Some(Job::Complete(ticket, answer)) => {
                    let _ = self.server.complete(&mut self.host, ticket, now, answer);
                }
                None => {
                    self.has_jobs = false;
                    return;
                }
            }
        }
    }

    fn counts(&self) -> &Counts {
        self.server.counts()
    }

    fn say_counts(&self) {
        say::err(&format!("evserver: {}", live_line(self.counts())));
    }
}
