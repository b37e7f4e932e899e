//! One epoll loop, level-triggered.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use crate::fault::Fault;
use crate::talk::Talk;
use crate::{LINGER, Options, failed};

/// The listener's place in the poller; connections count up from 1.
const LISTENER: u64 = 0;

/// Replies that wait beyond this are too many for the fault that cuts such clients off.
const OVERFLOW_BYTES: usize = 64 * 1024;

/// How rarely the fault looks at the clock.
const LATE_SCAN: Duration = Duration::from_secs(60);

struct Connection {
    stream: TcpStream,
    talk: Talk,
    interest: EventFlags,
    /// The client has ended its stream.
    ended: bool,
    /// When a byte last moved, or when our end of stream was sent.
    last: Instant,
    lingers: bool,
    first_stall: Option<Instant>,
}

/// What becomes of a connection after its turn.
#[derive(PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
}

pub fn serve(listener: &TcpListener, options: Options) -> Result<()> {
    listener.set_nonblocking(true)?;
    let poller = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&poller, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut connections: HashMap<u64, Connection> = HashMap::new();
    let mut next_key = LISTENER;
    let mut last_scan = Instant::now();
    let mut events = Vec::with_capacity(256);
    loop {
        let wait = timeout(&connections, options, last_scan);
        events.clear();
        match epoll::wait(&poller, rustix::buffer::spare_capacity(&mut events), wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let key = event.data.u64();
            if key == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    next_key += 1;
                    if let Some(connection) = accepted(stream, connections.len(), options) {
                        epoll::add(&poller, &connection.stream, EventData::new_u64(next_key), connection.interest)?;
                        connections.insert(next_key, connection);
                        turn(&poller, &mut connections, next_key, None, options)?;
                    }
                }
            } else {
                turn(&poller, &mut connections, key, Some(event), options)?;
            }
        }
        if options.fault != Fault::ScansClockLate || last_scan.elapsed() >= LATE_SCAN {
            last_scan = Instant::now();
            connections.retain(|_, connection| connection.deadline(options) > last_scan);
        }
    }
}

fn timeout(connections: &HashMap<u64, Connection>, options: Options, last_scan: Instant) -> Option<Timespec> {
    let next = connections.values().map(|connection| connection.deadline(options)).min()?;
    let next = if options.fault == Fault::ScansClockLate { last_scan + LATE_SCAN } else { next };
    // Rounded up to whole milliseconds by what is added: never early, no turning in circles just before.
    let left = next.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
    Timespec::try_from(left).ok()
}

fn accepted(stream: TcpStream, open: usize, options: Options) -> Option<Connection> {
    stream.set_nonblocking(true).ok()?;
    stream.set_nodelay(true).ok()?;
    let mut talk = Talk::new(options.fault);
    if open >= options.most_connections {
        talk.output = b"server full\n".to_vec();
        talk.over = true;
    }
    let interest = match options.fault {
        Fault::ReadsOnceAnEdge => EventFlags::IN | EventFlags::OUT | EventFlags::ET,
        Fault::ObeysHangUpFirst => EventFlags::IN | EventFlags::RDHUP,
        _ => EventFlags::IN,
    };
    Some(Connection {
        stream,
        talk,
        interest,
        ended: false,
        last: Instant::now(),
        lingers: false,
        first_stall: None,
    })
}

/// Gives a connection its turn, and tells the poller what it waits for then.
fn turn(
    poller: &OwnedFd,
    connections: &mut HashMap<u64, Connection>,
    key: u64,
    event: Option<&Event>,
    options: Options,
) -> Result<()> {
    let Some(connection) = connections.get_mut(&key) else { return Ok(()) };
    let fate = match event {
        Some(event) => connection.obey(event.flags, options),
        None => connection.step(options),
    };
    let fate = fate.unwrap_or_else(|error| {
        failed(options, &error);
        Fate::Goes
    });
    if fate == Fate::Goes {
        connections.remove(&key);
        return Ok(());
    }
    let interest = connection.wanted(options);
    if interest != connection.interest {
        connection.interest = interest;
        epoll::modify(poller, &connection.stream, EventData::new_u64(key), interest)?;
    }
    Ok(())
}

impl Connection {
    fn deadline(&self, options: Options) -> Instant {
        match self.first_stall {
            Some(first) if options.fault == Fault::AddsStallsUp => first + options.idle(),
            _ if self.lingers => self.last + LINGER,
            _ => self.last + options.idle(),
        }
    }

    fn wanted(&self, options: Options) -> EventFlags {
        let blocked = !self.talk.output.is_empty();
        match options.fault {
            Fault::ReadsOnceAnEdge => self.interest,
            Fault::LeavesWriteInterest if self.interest.contains(EventFlags::OUT) => self.interest,
            Fault::SpinsWhileBlocked
            | Fault::BuffersWithoutEnd
            | Fault::ClosesOnOverflow
            | Fault::InputKeepsStuckAlive
                if blocked =>
            {
                EventFlags::IN | EventFlags::OUT
            }
            Fault::LeavesWriteInterest if blocked => EventFlags::IN | EventFlags::OUT,
            Fault::ObeysHangUpFirst if !blocked => EventFlags::IN | EventFlags::RDHUP,
            _ if blocked => EventFlags::OUT,
            _ => EventFlags::IN,
        }
    }

    fn obey(&mut self, flags: EventFlags, options: Options) -> Result<Fate> {
        let blocked = !self.talk.output.is_empty();
        match options.fault {
            Fault::ObeysHangUpFirst if flags.intersects(EventFlags::RDHUP | EventFlags::HUP) => Ok(Fate::Goes),
            Fault::IgnoresHangUp if blocked && flags.intersects(EventFlags::HUP | EventFlags::ERR) => {
                Ok(Fate::Stays)
            }
            Fault::InputKeepsStuckAlive if blocked && flags.contains(EventFlags::IN) => {
                self.receive(options)?;
                self.step(options)
            }
            _ => self.step(options),
        }
    }

    /// Sends what waits; with nothing left to send, receives once, and goes on until one of the two would block.
    fn step(&mut self, options: Options) -> Result<Fate> {
        let mut received = false;
        loop {
            self.talk.answer();
            if options.fault == Fault::ClosesOnOverflow && self.talk.output.len() > OVERFLOW_BYTES {
                return Ok(Fate::Goes);
            }
            let blocked = !self.talk.output.is_empty() && !self.send(options)?;
            if blocked && !matches!(options.fault, Fault::BuffersWithoutEnd | Fault::ClosesOnOverflow) {
                return Ok(Fate::Stays);
            }
            if !blocked && options.fault == Fault::ForgetsBufferedLines && received {
                return Ok(Fate::Stays);
            }
            self.talk.answer();
            if !self.talk.output.is_empty() && !blocked {
                continue;
            }
            if !blocked && self.talk.over && !self.lingers {
                if self.ended || options.fault == Fault::ClosesWithReset {
                    return Ok(Fate::Goes);
                }
                self.stream.shutdown(Shutdown::Write)?;
                (self.lingers, self.last) = (true, Instant::now());
            }
            if !blocked && self.ended {
                return Ok(Fate::Goes);
            }
            if received || !self.receive(options)? {
                return Ok(Fate::Stays);
            }
            received = true;
        }
    }

    /// Sends what the kernel takes; false when that was not all.
    fn send(&mut self, options: Options) -> Result<bool> {
        loop {
            match self.stream.write(&self.talk.output) {
                Ok(n) => {
                    let all = n == self.talk.output.len();
                    if all || options.fault != Fault::RepeatsPartialSends {
                        self.talk.output.drain(..n);
                    }
                    self.last = Instant::now();
                    if all {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.first_stall.get_or_insert_with(Instant::now);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives once; false when there was nothing.
    fn receive(&mut self, options: Options) -> Result<bool> {
        let mut buffer = vec![0; options.read_bytes()];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.ended = true;
                    self.talk.end();
                    return Ok(true);
                }
                Ok(n) if self.lingers => {
                    if options.fault == Fault::LingersOnAndOn {
                        self.last = Instant::now();
                    }
                    return Ok(n > 0);
                }
                Ok(n) => {
                    self.talk.take(&buffer[..n]);
                    self.last = Instant::now();
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
}
