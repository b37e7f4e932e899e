//! The superloop, and time that passes when nothing else happens.

use std::mem::take;

use evserver_core::{Buffers, Time};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::{Loopback, Medium};
use smoltcp::socket::Socket;
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use crate::client::{Client, Played};
use crate::server::Server;
use crate::talk::Talk;

/// Sockets of the server, and so clients at one time.
pub const SOCKETS: usize = 4;

/// Pairs of buffers that they share.
pub const PAIRS: usize = 2;

/// Bytes that the stack keeps of each direction of a socket.
const SOCKET_BYTES: usize = 2048;

const ADDRESS: IpAddress = IpAddress::v4(127, 0, 0, 1);

/// The first port of a client.
const FIRST_PORT: u16 = 49_152;

/// More milliseconds than any talk takes: whoever waits longer waits for nothing.
const MOST_MS: u64 = 3_600_000;

/// More rounds than any talk takes while no time passes.
const ROUNDS_IN_PLACE: u32 = 200_000;

/// What came of some talks.
#[derive(Default)]
pub struct Outcome {
    /// Talks in which all came as it was to come.
    pub whole: usize,
    /// What came in the others.
    pub different: Vec<String>,
}

/// A network of one machine.
pub struct World<'b> {
    device: Loopback,
    interface: Interface,
    sockets: SocketSet<'static>,
    server: Server<'b, SOCKETS, PAIRS>,
    seats: Vec<Seat>,
    next_port: u16,
    now_ms: u64,
}

/// A socket for a client.
struct Seat {
    handle: SocketHandle,
    client: Option<Client>,
}

impl<'b> World<'b> {
    pub fn new(pairs: &'b mut [Buffers; PAIRS]) -> World<'b> {
        let mut device = Loopback::new(Medium::Ip);
        let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(ADDRESS, 8)).expect("there is room for one address");
        });
        let mut sockets = SocketSet::new(Vec::new());
        let mut add = || {
            let buffer = || tcp::SocketBuffer::new(vec![0; SOCKET_BYTES]);
            sockets.add(tcp::Socket::new(buffer(), buffer()))
        };
        let server = Server::new([(); SOCKETS].map(|()| add()), pairs);
        let seats = (0..SOCKETS).map(|_| Seat { handle: add(), client: None }).collect();
        World { device, interface, sockets, server, seats, next_port: FIRST_PORT, now_ms: 0 }
    }

    /// Plays the talks, as many at a time as there are sockets.
    pub fn play(&mut self, talks: impl IntoIterator<Item = Talk>) -> Outcome {
        let mut talks = talks.into_iter();
        let mut outcome = Outcome::default();
        let (begun_ms, mut in_place) = (self.now_ms, 0);
        loop {
            for seat in self.seats.iter_mut().filter(|seat| seat.client.is_none()) {
                let Some(talk) = talks.next() else { break };
                seat.client = Some(Client::new(seat.handle, ADDRESS, self.next_port, talk));
                self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
            }
            if self.seats.iter().all(|seat| seat.client.is_none()) {
                return outcome;
            }
            let served = self.turn();
            let played = self.clients(&mut outcome);
            if served || played {
                in_place += 1;
            } else {
                in_place = 0;
                self.let_time_pass();
            }
            let waits = self.now_ms - begun_ms >= MOST_MS;
            assert!(!waits && in_place < ROUNDS_IN_PLACE, "{}", self.states());
        }
    }

    /// The superloop of a board: the stack, then the server. Says whether something happened.
    fn turn(&mut self) -> bool {
        let now = self.now();
        let polled = self.interface.poll(instant(now), &mut self.device, &mut self.sockets);
        let again = self.server.turn(&mut self.sockets, now);
        polled == PollResult::SocketStateChanged || again
    }

    fn clients(&mut self, outcome: &mut Outcome) -> bool {
        let mut moved = false;
        let now = self.now();
        for seat in &mut self.seats {
            let Some(client) = &mut seat.client else { continue };
            match client.turn(&mut self.sockets, self.interface.context(), now) {
                Played::Waiting => continue,
                Played::Moved => {}
                Played::Whole => {
                    outcome.whole += 1;
                    seat.client = None;
                }
                Played::Different(what) => {
                    outcome.different.push(format!("{}: {what}", client.name()));
                    self.sockets.get_mut::<tcp::Socket>(seat.handle).abort();
                    seat.client = None;
                }
            }
            moved = true;
        }
        moved
    }

    /// Nobody has anything to do: a board would sleep until the next deadline, here it comes at once.
    fn let_time_pass(&mut self) {
        let stack = self.interface.poll_at(instant(self.now()), &self.sockets);
        let stack = stack.map(|at| Time::from_ms(at.total_millis() as u64));
        let clients = self.seats.iter().filter_map(|seat| seat.client.as_ref()?.wakes_at());
        let next = stack.into_iter().chain(self.server.deadline()).chain(clients).min();
        self.now_ms = next.map_or(MOST_MS, Time::as_ms).max(self.now_ms + 1);
    }

    /// For whoever looks for the fault of a client that waits for ever.
    fn states(&self) -> String {
        let states: Vec<_> = self.sockets.iter().map(|(_, Socket::Tcp(socket))| socket.state()).collect();
        let names: Vec<_> = self.seats.iter().filter_map(|seat| Some(seat.client.as_ref()?.name())).collect();
        format!("after {} ms {names:?} go on for ever, with sockets {states:?}", self.now_ms)
    }

    /// The time in this world.
    pub fn now(&self) -> Time {
        Time::from_ms(self.now_ms)
    }

    /// Turns, since this was last asked, in which a connection had to wait for buffers.
    pub fn waits(&mut self) -> u64 {
        take(&mut self.server.waits)
    }
}

fn instant(time: Time) -> Instant {
    Instant::from_millis(time.as_ms() as i64)
}
