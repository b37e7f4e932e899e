//! The loop around a server: what is left to write when the core has the table of connections too.

use std::io::{self, ErrorKind};
use std::time::Duration;

use evserver_core::{Client, Server, Settings, Time};
use evserver_hosted::{Listening, Report, Source, Table, live_line, say};
use evserver_runtimes::Clock;
use mio::event::Event;
use mio::{Events, Poll};
use signal_hook_mio::v1_0::Signals;

use crate::host::{MioHost, name};

// As signal_hook::consts has them.
const SIGHUP: i32 = rustix::process::Signal::HUP.as_raw();
const SIGINT: i32 = rustix::process::Signal::INT.as_raw();
const SIGTERM: i32 = rustix::process::Signal::TERM.as_raw();
const SIGUSR1: i32 = rustix::process::Signal::USR1.as_raw();

/// The signals that the program takes.
pub const SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGTERM, SIGUSR1];

/// Events that one wait reports at most.
const EVENTS: usize = 256;

type MioServer = Server<MioHost, Table<Client<MioHost, 4096>>>;

/// Serves until a signal ends it. The numbers are those of `Server`'s documentation.
pub fn serve(listeners: Vec<Listening>, settings: Settings, mut signals: Signals) -> io::Result<Report> {
    let clock = Clock::start();
    let mut poll = Poll::new()?;
    poll.registry().register(&mut signals, name(Source::Signals), mio::Interest::READABLE)?;
    let mut host = MioHost::new(poll.registry().try_clone()?, listeners)?;
    let mut server = MioServer::new(Table::new(), settings);
    let mut events = Events::with_capacity(EVENTS);
    while !server.is_done() {
        // 1.
        let now = clock.now();
        let has_work = server.must_not_sleep() || (0..host.listeners()).any(|listener| host.may_accept(listener));
        let timeout = if has_work { Some(Duration::ZERO) } else { wait_at_most(&server, now) };
        match poll.poll(&mut events, timeout) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            // A signal came first, and is an event of the next wait.
            Err(_) => events.clear(),
            Ok(()) => {}
        }
        // 2.
        let now = clock.now();
        // 3.
        for event in &events {
            match Source::from_bits(event.token().0 as u64) {
                Source::Client(token) => {
                    let (readable, writable) = (event.is_readable(), event.is_writable());
                    server.event(&mut host, token, readable, writable, is_hangup(event), now);
                }
                Source::Listener(listener) => host.listener_is_ready(listener),
                Source::Signals => {
                    for signal in signals.pending() {
                        if signal == SIGUSR1 {
                            say::warn(live_line(server.counts()));
                        } else if server.is_draining() {
                            return Ok(Report { counts: *server.counts(), at_once: true });
                        } else {
                            let listeners = host.listeners();
                            server.drain(&mut host, listeners, now);
                            host.close_listeners();
                        }
                    }
                }
                Source::Timer | Source::Stop | Source::Jobs => {}
            }
        }
        for listener in 0..host.listeners() {
            if host.may_accept(listener) {
                server.accept(&mut host, listener, now);
            }
        }
        // 4.
        server.run(&mut host, now);
        // 5.
        server.end_turn(now, clock.now());
    }
    Ok(Report { counts: *server.counts(), at_once: false })
}

/// How long nothing is due.
fn wait_at_most(server: &MioServer, now: Time) -> Option<Duration> {
    server.next_deadline().map(|due| Duration::from_millis(due.since_ms(now)))
}

/// An error, or an end in both directions.
fn is_hangup(event: &Event) -> bool {
    event.is_error() || (event.is_read_closed() && event.is_write_closed())
}
