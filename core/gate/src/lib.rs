//! The whole public interface of evserver-core behind exported functions, for the linker to judge.
//!
//! The panic handler calls a function that does not exist. Built for release, everything that cannot be reached is
//! dropped before the linker looks for undefined names; so this library links only if no exported function can
//! reach a panic. `../gate/check` builds it, looks that each exported function is there, and builds it once more
//! with a panic put in, which must not link.
#![no_std]
// The functions are never called; only the linker looks at them.
#![allow(improper_ctypes_definitions, missing_docs, clippy::missing_safety_doc)]

mod sys;

use core::borrow::BorrowMut;
use core::fmt::{self, Display, Formatter};

use evserver_core::{
    Accept, Action, Buffers, Client, CloseReason, Connection, Counts, Deadlines, Host, Interest, Io, Late, Limits,
    LineEnd, Next, NoRoom, NumberedEcho, Protocol, Readiness, Reply, Server, Settings, Slot, Slots, Ticket, Time,
    Token, Transport, Turn, Wants, drive, parse_decimal,
};

use sys::export;

type Echo = Connection<NumberedEcho, &'static mut Buffers>;

export! {
    gate_connection_new(out: &mut Echo, limits: &Limits, now: Time) {
        *out = Connection::new(NumberedEcho::new(), limits, now);
    }
    gate_connection_refuse(out: &mut Echo, text: &'static [u8], limits: &Limits, now: Time) {
        *out = Connection::refuse(text, limits, now);
    }
    gate_lend(connection: &mut Echo, buffers: &'static mut Buffers, now: Time) { connection.lend(buffers, now) }
    gate_reclaim(connection: &mut Echo) -> Option<&'static mut Buffers> { connection.reclaim() }
    gate_has_buffers(connection: &Echo) -> bool { connection.has_buffers() }
    gate_receive_space(connection: &mut Echo) -> &mut [u8] { connection.receive_space() }
    gate_received(connection: &mut Echo, n: usize, now: Time) { connection.received(n, now) }
    gate_received_end(connection: &mut Echo, now: Time) { connection.received_end(now) }
    gate_transmit(connection: &Echo) -> &[u8] { connection.transmit() }
    gate_transmitted(connection: &mut Echo, n: usize, now: Time) { connection.transmitted(n, now) }
    gate_write_shut(connection: &mut Echo, now: Time) { connection.write_shut(now) }
    gate_failed(connection: &mut Echo) { connection.failed() }
    gate_panicked(connection: &mut Echo) { connection.panicked() }
    gate_abandon(connection: &mut Echo) { connection.abandon(CloseReason::DrainTimeout) }
    gate_drain(connection: &mut Echo) { connection.drain() }
    gate_is_draining(connection: &Echo) -> bool { connection.is_draining() }
    gate_owes_receive(connection: &Echo) -> bool { connection.owes_receive() }
    gate_drained(connection: &mut Echo, now: Time) { connection.drained(now) }
    gate_push(connection: &mut Echo, bytes: &[u8], now: Time) -> Result<(), NoRoom> { connection.push(bytes, now) }
    gate_has_unread_input(connection: &Echo) -> bool { connection.has_unread_input() }
    gate_action(connection: &Echo) -> Action { connection.action() }
    gate_interest(connection: &Echo) -> Interest { connection.interest() }
    gate_wants(connection: &Echo) -> Wants { connection.wants() }
    gate_protocol(connection: &Echo) -> Option<&NumberedEcho> { connection.protocol() }
    gate_set_token(connection: &mut Echo, token: Token) { connection.set_token(token) }
    gate_deadline(connection: &Echo) -> Option<Time> { connection.deadline() }
    gate_deadlines(connection: &Echo) -> Deadlines { connection.deadlines() }
    gate_handle_timeout(connection: &mut Echo, now: Time) { connection.handle_timeout(now) }
    gate_restamp(connection: &mut Echo, began: Time, ended: Time) { connection.restamp(began, ended) }

    gate_buffers_new(out: &mut Buffers) { *out = Buffers::new() }
    gate_buffers_default(out: &mut Buffers) { *out = Buffers::default() }
    gate_buffers_state(buffers: &mut Buffers) -> bool { buffers.clear(); buffers.is_empty() }
    gate_limits_new() -> Limits { Limits::new() }
    gate_limits_default() -> Limits { Limits::default() }
    gate_echo_default(out: &mut NumberedEcho) { *out = NumberedEcho::default() }
    gate_echo_counting_from(out: &mut NumberedEcho, lines: u64) { *out = NumberedEcho::counting_from(lines) }
    gate_is_timeout(reason: CloseReason) -> bool { reason.is_timeout() }
    gate_say_late(late: &Late, out: &mut Formatter<'_>) -> fmt::Result { late.fmt(out) }
    gate_say_no_room(no_room: &NoRoom, out: &mut Formatter<'_>) -> fmt::Result { no_room.fmt(out) }

    gate_put(reply: &mut Reply<'_>, bytes: &[u8]) -> Result<(), NoRoom> { reply.put(bytes) }
    gate_put_some(reply: &mut Reply<'_>, bytes: &[u8]) -> usize { reply.put_some(bytes) }
    gate_reply_has_unread_input(reply: &Reply<'_>) -> bool { reply.has_unread_input() }
    gate_ticket(reply: &mut Reply<'_>, timeout_ms: u32) -> Ticket { reply.ticket(timeout_ms) }
    gate_reply_token(reply: &Reply<'_>) -> Token { reply.token() }
    gate_set_timer(reply: &mut Reply<'_>, ms: u32) { reply.set_timer(ms); reply.stop_timer() }
    gate_time_after(time: Time, ms: u32, earlier: Time) -> u64 { time.after(ms).since_ms(earlier) }
    gate_counts_add(counts: &mut Counts, other: &Counts) { counts.add(other) }
    gate_parse_decimal(digits: &[u8]) -> Option<u64> { parse_decimal(digits) }
    gate_token(bits: u64) -> u64 { Token::from_bits(bits).to_bits() }

    gate_drive(connection: &mut Echo, wire: &mut Wire, readiness: &mut Readiness, now: Time, budget: usize) -> Turn {
        drive(connection, wire, readiness, now, budget)
    }

    gate_every_call(connection: &mut Connection<Every, &'static mut Buffers>, n: usize, now: Time) {
        connection.received(n, now);
        connection.transmitted(n, now);
        connection.handle_timeout(now);
    }
    gate_complete(connection: &mut Connection<Every, &'static mut Buffers>, ticket: Ticket, now: Time)
        -> Result<(), Late>
    {
        connection.complete(ticket, now, |every| every.0 = Next::Close)
    }
    gate_strict_lines(connection: &mut Connection<Strict, &'static mut Buffers<64>, 64>, n: usize, now: Time) {
        connection.received(n, now);
        connection.received_end(now);
    }

    gate_slot_new(out: &mut Slot<Client<System, 4096>>) { *out = Slot::new() }
    gate_slot_default(out: &mut Slot<Client<System, 4096>>) { *out = Slot::default() }
    gate_table_len(table: &Table) -> u32 { table.len() }
    gate_settings_default() -> Settings { Settings::default() }
    gate_server_new(out: &mut World, slots: Memory, settings: Settings) {
        *out = Server::new(slots, settings);
    }
    gate_server_accept(server: &mut World, system: &mut System, listener: usize, now: Time) {
        server.accept(system, listener, now)
    }
    gate_server_event(server: &mut World, system: &mut System, token: Token, flags: u8, now: Time) {
        server.event(system, token, flags & 1 != 0, flags & 2 != 0, flags & 4 != 0, now)
    }
    gate_server_run(server: &mut World, system: &mut System, now: Time) { server.run(system, now) }
    gate_server_end_turn(server: &mut World, began: Time, ended: Time) { server.end_turn(began, ended) }
    gate_server_drain(server: &mut World, system: &mut System, listeners: usize, now: Time) {
        server.drain(system, listeners, now)
    }
    gate_server_tell(server: &mut World, system: &mut System, now: Time) { server.tell(system, now, || {}) }
    gate_server_abandon(server: &mut World, system: &mut System) { server.abandon(system) }
    gate_server_push(server: &mut World, system: &mut System, token: Token, bytes: &[u8], now: Time)
        -> Result<(), NoRoom>
    {
        server.push(system, token, bytes, now)
    }
    gate_server_complete(server: &mut World, system: &mut System, ticket: Ticket, now: Time) -> Result<(), Late> {
        server.complete(system, ticket, now, |_| {})
    }
    gate_server_next_deadline(server: &World) -> Option<Time> { server.next_deadline() }
    gate_server_state(server: &World) -> u64 {
        server.counts().served
            + u64::from(server.must_not_sleep())
            + u64::from(server.is_draining())
            + u64::from(server.is_done())
    }
}

#[cfg(feature = "deliberate-panic")]
export! {
    gate_deliberate_panic(bytes: &[u8], n: usize) -> u8 { bytes[n] }
}

type Memory = &'static mut [Slot<Client<System, 4096>>; 64];
type Table = Slots<Client<System, 4096>, Memory>;
type World = Server<System, Memory, 4096>;

/// A transport about which the compiler knows nothing.
pub struct Wire {
    receive: extern "C" fn(&mut [u8]) -> isize,
    send: extern "C" fn(&[u8]) -> isize,
    shut: extern "C" fn(),
}

fn io(n: isize) -> Io {
    match n {
        1.. => Io::Moved(n as usize),
        0 => Io::End,
        -1 => Io::WouldBlock,
        -2 => Io::Interrupted,
        _ => Io::Failed,
    }
}

impl Transport for Wire {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        io((self.receive)(space))
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        io((self.send)(bytes))
    }

    fn shutdown_write(&mut self) {
        (self.shut)()
    }
}

/// A protocol that may answer anything to any call.
pub struct Every(Next, extern "C" fn(&[u8], &mut Reply<'_>));

impl Every {
    fn answer(&mut self, bytes: &[u8], reply: &mut Reply<'_>) -> Next {
        (self.1)(bytes, reply);
        self.0
    }
}

impl Protocol for Every {
    const LINE_END: LineEnd = LineEnd::Byte(0);

    fn room(&self, len: usize) -> usize {
        len
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(&[], reply)
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        self.answer(line, reply)
    }

    fn body(&mut self, part: &[u8], _: u64, reply: &mut Reply<'_>) -> Next {
        self.answer(part, reply)
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(&[], reply)
    }

    fn bare_newline(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(&[], reply)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(&[], reply)
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(&[], reply)
    }

    fn timer(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(&[], reply)
    }

    fn missed(&mut self, _: u32, reply: &mut Reply<'_>) -> Next {
        self.answer(&[], reply)
    }

    fn end(&mut self, tail: &[u8], reply: &mut Reply<'_>) -> Next {
        self.answer(tail, reply)
    }
}

/// As `Every`, where CR LF is strict.
pub struct Strict(Every);

impl Protocol for Strict {
    const LINE_END: LineEnd = LineEnd::CrLf;

    fn room(&self, len: usize) -> usize {
        len
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        self.0.answer(line, reply)
    }

    fn bare_newline(&mut self, reply: &mut Reply<'_>) -> Next {
        self.0.answer(&[], reply)
    }
}

/// A host about which the compiler knows nothing.
pub struct System {
    accept: extern "C" fn(usize) -> Option<Wire>,
    watch: extern "C" fn(u64, u8) -> bool,
    pool: [Option<&'static mut Buffers>; 4],
}

impl Host for System
where
    &'static mut Buffers: BorrowMut<Buffers>,
{
    type Socket = Wire;
    type Peer = ();
    type Protocol = NumberedEcho;
    type Buffers = &'static mut Buffers;

    fn accept(&mut self, listener: usize) -> Accept<Wire, ()> {
        match (self.accept)(listener) {
            Some(wire) => Accept::Client(wire, ()),
            None if listener & 1 == 0 => Accept::WouldBlock,
            None => Accept::Exhausted,
        }
    }

    fn protocol(&mut self, (): &()) -> Option<NumberedEcho> {
        Some(NumberedEcho::new())
    }

    fn watch(&mut self, _: &Wire, token: Token, interest: Interest) -> bool {
        (self.watch)(token.to_bits(), interest as u8)
    }

    fn rewatch(&mut self, _: &Wire, token: Token, interest: Interest) -> bool {
        (self.watch)(token.to_bits(), interest as u8)
    }

    fn unwatch(&mut self, _: &Wire, token: Token) {
        (self.watch)(token.to_bits(), u8::MAX);
    }

    fn watch_listeners(&mut self, on: bool) {
        (self.watch)(u64::MAX, u8::from(on));
    }

    fn take_buffers(&mut self) -> Option<&'static mut Buffers> {
        self.pool.iter_mut().find_map(Option::take)
    }

    fn return_buffers(&mut self, buffers: &'static mut Buffers) {
        if let Some(place) = self.pool.iter_mut().find(|place| place.is_none()) {
            *place = Some(buffers);
        }
    }
}
