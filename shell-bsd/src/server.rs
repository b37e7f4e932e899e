//! The shell itself: the core's server on kqueue.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};

use evserver_core::{Accept, Interest, Io, Protocol, Settings, Time, Transport};
use evserver_hosted::event_loop::{Backend, Event, Setup, SignalRequest, run};
use evserver_hosted::{Listening, Peer, Report, Source, StopHandle};

use crate::poller::Poller;
use crate::signals::Signals;
use crate::sys;
use crate::timer::Timer;

/// How to serve.
#[derive(Default)]
pub struct Options {
    /// Limits of time and number. The poller reports states here, whatever `edge_triggered` says: how a server
    /// behaves is the same in both modes.
    pub settings: Settings,
    /// Loops, each on a thread of its own; 0 counts as 1. More than one need listeners that were opened with
    /// [`ListenOptions::reuse_port`](evserver_hosted::ListenOptions::reuse_port).
    pub loops: usize,
    /// Stops the server from elsewhere; a clone stays with the caller.
    pub stop: Option<StopHandle>,
    /// The program's signals, if they are to stop the server.
    pub signals: Option<Signals>,
}

/// Serves the clients of `listeners` until it is stopped; `make` makes the protocol of each.
///
/// Runs on this thread, and on others if there are several loops. A signal, or [`StopHandle::drain`], has it answer what was received, flush, and return.
/// SIGPIPE is never raised and its action is left alone.
///
/// # Errors
///
/// Those of kqueue(2) and of the stop handle; clients' errors are theirs alone.
pub fn serve<P, F>(listeners: Vec<Listening>, options: Options, make: F) -> io::Result<Report>
where
    P: Protocol,
    F: Fn(&Peer<P>) -> P + Sync,
{
    let Options { settings, loops, stop, signals } = options;
    let settings = Settings { edge_triggered: false, ..settings };
    let setup = Setup { settings, loops: loops.max(1), stop: stop.map_or_else(StopHandle::new, Ok)? };
    let first = Kqueue::new(signals)?;
    run(first, || Kqueue::new(None), listeners, &setup, make)
}

/// A connected socket.
struct Socket(OwnedFd);

impl Transport for Socket {
    #[inline]
    fn receive(&mut self, space: &mut [u8]) -> Io {
        sys::receive(&self.0, space)
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> Io {
        sys::send(&self.0, bytes)
    }

    fn shutdown_write(&mut self) {
        sys::shutdown_write(&self.0);
    }
}

/// The system calls of this shell.
struct Kqueue {
    poller: Poller,
    timer: Timer,
    signals: Option<Signals>,
}

impl Kqueue {
    fn new(signals: Option<Signals>) -> io::Result<Self> {
        let poller = Poller::new()?;
        let timer = Timer::new();
        if let Some(signals) = &signals {
            poller.watch_input(signals, Source::Signals)?;
        }
        Ok(Self { poller, timer, signals })
    }
}

impl Backend for Kqueue {
    type Socket = Socket;

    fn watch(&mut self, socket: &Socket, source: Source, interest: Interest) -> io::Result<()> {
        self.poller.watch(&socket.0, source, interest);
        Ok(())
    }

    fn rewatch(&mut self, socket: &Socket, source: Source, interest: Interest) -> io::Result<()> {
        self.poller.rewatch(&socket.0, source, interest);
        Ok(())
    }

    fn unwatch(&mut self, socket: &Socket, source: Source) {
        self.poller.unwatch(&socket.0, source);
    }

    fn watch_input(&mut self, fd: BorrowedFd<'_>, source: Source) -> io::Result<()> {
        self.poller.watch_input(fd, source)
    }

    fn unwatch_input(&mut self, fd: BorrowedFd<'_>, source: Source) {
        self.poller.unwatch_input(fd, source);
    }

    fn accept(&mut self, listener: BorrowedFd<'_>) -> Accept<Socket, SocketAddr> {
        match sys::accept(listener) {
            Accept::Client(fd, peer) => Accept::Client(Socket(fd), peer),
            Accept::WouldBlock => Accept::WouldBlock,
            Accept::Interrupted => Accept::Interrupted,
            Accept::Dropped => Accept::Dropped,
            Accept::Exhausted => Accept::Exhausted,
        }
    }

    fn arm(&mut self, deadline: Option<Time>) -> io::Result<()> {
        self.timer.arm(deadline);
        Ok(())
    }

    // A wait that ends because its time is over reports nothing.
    fn timer_fired(&mut self) {}

    fn next_signal(&mut self) -> Option<SignalRequest> {
        self.signals.as_mut()?.next()
    }

    fn wait(&mut self, sleep: bool) -> io::Result<()> {
        let limit_ms = if sleep { self.timer.left_ms(sys::now()) } else { Some(0) };
        self.poller.wait(limit_ms)
    }

    #[inline]
    fn event(&self, number: usize) -> Option<Event> {
        self.poller.event(number)
    }

    fn now(&self) -> Time {
        sys::now()
    }
}
