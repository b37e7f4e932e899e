//! Every outcome of a call, and that no call is made which is not needed.

use std::boxed::Box;
use std::collections::VecDeque;
use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::{Interest, Limits, Next, NumberedEcho, Reply};

const NOW: Time = Time::from_ms(1_000);

/// A call that is expected, with its outcome.
#[derive(Debug)]
enum Expected {
    /// A receive into so much space brings these bytes.
    Receive(usize, &'static [u8]),
    /// A receive has another outcome.
    ReceiveNot(Io),
    /// A send of these bytes takes so many of the first.
    Send(&'static [u8], usize),
    /// A send has another outcome.
    SendNot(Io),
    Shutdown,
}

use Expected::{Receive, ReceiveNot, Send, SendNot, Shutdown};

/// A transport whose every call is foreseen.
struct Script(VecDeque<Expected>);

impl Transport for Script {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        match self.0.pop_front() {
            Some(Receive(asked, bytes)) => {
                assert_eq!(space.len(), asked);
                space[..bytes.len()].copy_from_slice(bytes);
                Io::Moved(bytes.len())
            }
            Some(ReceiveNot(io)) => io,
            other => panic!("receive, but {other:?}"),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        match self.0.pop_front() {
            Some(Send(expected, taken)) => {
                assert_eq!(bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
                Io::Moved(taken)
            }
            Some(SendNot(io)) => io,
            other => panic!("send, but {other:?}"),
        }
    }

    fn shutdown_write(&mut self) {
        assert!(matches!(self.0.pop_front(), Some(Shutdown)), "shutdown");
    }
}

/// A connection that was greeted, and what is known of its transport.
struct Peer<P: Protocol = NumberedEcho> {
    connection: Connection<P, Box<Buffers<64>>, 64>,
    readiness: Readiness,
    budget: usize,
}

const EVENT: Readiness = Readiness { readable: true, ..Readiness::NONE };
const EDGE: Readiness = Readiness { until_would_block: true, ..EVENT };

fn greeted() -> Peer {
    let mut peer = fresh(NumberedEcho::new());
    peer.runs(Readiness::NONE, [Send(b"ready\n", 6)], Turn::Waiting);
    peer
}

fn fresh<P: Protocol>(protocol: P) -> Peer<P> {
    let mut connection = Connection::new(protocol, &Limits::new(), NOW);
    connection.lend(Box::default(), NOW);
    Peer { connection, readiness: Readiness::NONE, budget: 1_000_000 }
}

impl<P: Protocol> Peer<P> {
    /// With this readiness exactly these calls are made, and the turn ends so.
    #[track_caller]
    fn runs<const K: usize>(&mut self, readiness: Readiness, calls: [Expected; K], turn: Turn) {
        self.readiness = readiness;
        self.goes_on(calls, turn);
    }

    /// With the readiness that is left exactly these calls are made.
    #[track_caller]
    fn goes_on<const K: usize>(&mut self, calls: [Expected; K], turn: Turn) {
        let mut script = Script(calls.into());
        let got = drive(&mut self.connection, &mut script, &mut self.readiness, NOW, self.budget);
        assert_eq!(got, turn);
        assert!(script.0.is_empty(), "not called: {:?}", script.0);
    }

    #[track_caller]
    fn assert_left(&self, readable: bool, writable: bool) {
        assert_eq!((self.readiness.readable, self.readiness.writable), (readable, writable));
    }
}

#[test]
fn a_request_that_fits_costs_one_receive_and_one_send() {
    let mut peer = greeted();
    peer.runs(EVENT, [Receive(64, b"a\n"), Send(b"1: a\n", 5)], Turn::Waiting);
    peer.assert_left(false, true);
    assert_eq!(peer.connection.interest(), Interest::Read);
}

#[test]
fn an_edge_is_used_up_by_would_block_alone() {
    let mut peer = greeted();
    let calls = [
        Receive(64, b"a\n"),
        Send(b"1: a\n", 5),
        Receive(64, b"b\n"),
        Send(b"2: b\n", 5),
        ReceiveNot(Io::WouldBlock),
    ];
    peer.runs(EDGE, calls, Turn::Waiting);
    peer.assert_left(false, true);
}

#[test]
fn without_an_event_nothing_is_received() {
    let mut peer = greeted();
    peer.runs(Readiness::NONE, [], Turn::Waiting);
}

#[test]
fn a_receive_that_filled_the_space_is_followed_by_another() {
    let mut peer = greeted();
    let full = b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nb";
    let reply = b"1: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    let calls = [Receive(64, full), Send(&reply[..64], 64), Send(b"a\n", 2), ReceiveNot(Io::WouldBlock)];
    peer.runs(EVENT, calls, Turn::Waiting);
}

#[test]
fn a_short_send_waits_for_room() {
    let mut peer = greeted();
    peer.runs(EVENT, [Receive(64, b"a\n"), Send(b"1: a\n", 2)], Turn::Waiting);
    peer.assert_left(false, false);
    assert_eq!(peer.connection.interest(), Interest::Write);
    peer.goes_on([], Turn::Waiting);
    let writable = Readiness { writable: true, ..Readiness::NONE };
    peer.runs(writable, [Send(b" a\n", 3)], Turn::Waiting);
    assert_eq!(peer.connection.interest(), Interest::Read);
}

#[test]
fn a_short_send_of_an_edge_is_tried_until_would_block() {
    let mut peer = greeted();
    let calls = [Receive(64, b"a\n"), Send(b"1: a\n", 2), Send(b" a\n", 1), SendNot(Io::WouldBlock)];
    peer.runs(EDGE, calls, Turn::Waiting);
    peer.assert_left(true, false);
    let edge = Readiness { writable: true, ..peer.readiness };
    peer.runs(edge, [Send(b"a\n", 2), ReceiveNot(Io::WouldBlock)], Turn::Waiting);
}

#[test]
fn interruptions_are_tried_again_and_bounded() {
    let mut peer = greeted();
    let calls = [
        ReceiveNot(Io::Interrupted),
        Receive(64, b"a\n"),
        SendNot(Io::Interrupted),
        SendNot(Io::Interrupted),
        Send(b"1: a\n", 5),
    ];
    peer.runs(EVENT, calls, Turn::Waiting);
    let storm: [Expected; INTERRUPTS_IN_A_TURN as usize + 1] =
        core::array::from_fn(|_| ReceiveNot(Io::Interrupted));
    peer.runs(EVENT, storm, Turn::Again);
    peer.assert_left(true, true);
    peer.goes_on([Receive(64, b"b\n"), Send(b"2: b\n", 5)], Turn::Waiting);
}

#[test]
fn a_failed_receive_or_send_is_the_end() {
    let mut peer = greeted();
    peer.runs(EVENT, [ReceiveNot(Io::Failed)], Turn::Closed(CloseReason::Failed));
    for io in [Io::Failed, Io::End] {
        let mut peer = greeted();
        peer.runs(EVENT, [Receive(64, b"a\n"), SendNot(io)], Turn::Closed(CloseReason::Failed));
        peer.goes_on([], Turn::Closed(CloseReason::Failed));
    }
}

#[test]
fn an_end_behind_lines_answers_them_first() {
    let mut peer = greeted();
    let full = b"aaaaaaa\nbbbbbbb\nccccccc\nddddddd\neeeeeee\nfffffff\nggggggg\nhhhhhhh\n";
    peer.runs(
        EVENT,
        [
            Receive(64, full),
            Send(b"1: aaaaaaa\n2: bbbbbbb\n3: ccccccc\n4: ddddddd\n", 44),
            Send(b"5: eeeeeee\n6: fffffff\n7: ggggggg\n8: hhhhhhh\n", 44),
            ReceiveNot(Io::End),
        ],
        Turn::Closed(CloseReason::PeerEnd),
    );
}

#[test]
fn an_end_is_looked_for_behind_data_that_came_with_a_hang_up() {
    let mut peer = greeted();
    let hangup = Readiness { hangup: true, ..EVENT };
    let calls = [Receive(64, b"a\n"), Send(b"1: a\n", 5), ReceiveNot(Io::End)];
    peer.runs(hangup, calls, Turn::Closed(CloseReason::PeerEnd));
}

#[test]
fn a_hang_up_while_writing_tries_the_output_and_then_fails() {
    let mut peer = greeted();
    peer.runs(EVENT, [Receive(64, b"a\n"), Send(b"1: a\n", 2)], Turn::Waiting);
    let hangup = Readiness { hangup: true, ..EVENT };
    peer.runs(hangup, [SendNot(Io::WouldBlock)], Turn::Closed(CloseReason::Failed));
}

#[test]
fn a_hang_up_alone_is_no_end() {
    let mut peer = greeted();
    let hangup = Readiness { hangup: true, ..EVENT };
    peer.runs(hangup, [ReceiveNot(Io::WouldBlock)], Turn::Waiting);
    assert_eq!(peer.connection.interest(), Interest::Read);
}

/// Asks for an answer from elsewhere, always.
struct Asks;

impl Protocol for Asks {
    fn room(&self, _len: usize) -> usize {
        0
    }
    fn line(&mut self, _line: &[u8], reply: &mut Reply<'_>) -> Next {
        Next::Later(reply.ticket(0))
    }
}

#[test]
fn a_hang_up_while_an_answer_is_waited_for_fails() {
    let mut peer = fresh(Asks);
    peer.runs(EVENT, [Receive(64, b"a\nb\n")], Turn::Waiting);
    assert_eq!(peer.connection.interest(), Interest::None);
    peer.runs(EVENT, [], Turn::Waiting);
    peer.runs(Readiness { hangup: true, ..EVENT }, [], Turn::Closed(CloseReason::Failed));
}

#[test]
fn quit_shuts_and_lingers_until_the_peers_end() {
    let mut peer = greeted();
    let calls = [Receive(64, b"quit\nmore\n"), Send(b"bye\n", 4), Shutdown];
    peer.runs(EVENT, calls, Turn::Waiting);
    assert_eq!(peer.connection.deadline(), Some(NOW.after(2_000)));
    peer.runs(EVENT, [Receive(64, b"even more")], Turn::Waiting);
    peer.runs(EVENT, [ReceiveNot(Io::End)], Turn::Closed(CloseReason::Protocol));
}

#[test]
fn a_reset_while_lingering_keeps_the_reason() {
    let mut peer = greeted();
    peer.runs(EVENT, [Receive(64, b"quit\n"), Send(b"bye\n", 4), Shutdown], Turn::Waiting);
    peer.runs(EVENT, [ReceiveNot(Io::Failed)], Turn::Closed(CloseReason::Protocol));
}

#[test]
fn a_budget_bounds_the_turn() {
    let mut peer = greeted();
    peer.budget = 70;
    let sixty_four = b"aaaaaaa\nbbbbbbb\nccccccc\nddddddd\neeeeeee\nfffffff\nggggggg\nhhhhhhh\n";
    let calls = [Receive(64, sixty_four), Send(b"1: aaaaaaa\n2: bbbbbbb\n3: ccccccc\n4: ddddddd\n", 44)];
    peer.runs(EVENT, calls, Turn::Again);
    peer.assert_left(true, true);
    peer.goes_on(
        [Send(b"5: eeeeeee\n6: fffffff\n7: ggggggg\n8: hhhhhhh\n", 44), Receive(64, b"\n"), Send(b"9: \n", 4)],
        Turn::Waiting,
    );
}

#[test]
fn a_budget_of_one_is_one_transfer() {
    let mut peer = greeted();
    peer.budget = 1;
    peer.runs(Readiness::ALL, [Receive(64, b"a\n")], Turn::Again);
    peer.runs(Readiness::ALL, [Send(b"1: a\n", 3)], Turn::Waiting);
    peer.runs(Readiness::ALL, [Send(b"a\n", 2)], Turn::Again);
    peer.runs(Readiness::ALL, [ReceiveNot(Io::WouldBlock)], Turn::Waiting);
}

#[test]
fn without_buffers_some_are_asked_for() {
    let mut connection = Connection::<_, Box<Buffers<64>>, 64>::new(NumberedEcho::new(), &Limits::new(), NOW);
    let mut readiness = Readiness::ALL;
    let turn = drive(&mut connection, &mut Script([].into()), &mut readiness, NOW, 100);
    assert_eq!((turn, readiness), (Turn::Lend, Readiness::ALL));
}

#[test]
fn a_drain_receives_once_more_without_an_event() {
    let mut peer = greeted();
    peer.connection.drain();
    let calls = [Receive(64, b"a\nb"), Send(b"1: a\n", 5), Shutdown];
    peer.runs(Readiness::NONE, calls, Turn::Waiting);
    assert!(peer.connection.is_draining());
    peer.runs(EVENT, [ReceiveNot(Io::End)], Turn::Closed(CloseReason::Drained));
}

#[test]
fn a_drain_of_an_edge_receives_until_would_block() {
    let mut peer = greeted();
    peer.connection.drain();
    let calls = [Receive(64, b"a\nb"), Send(b"1: a\n", 5), Receive(63, b"\n"), Send(b"2: b\n", 5)];
    let mut all: VecDeque<Expected> = calls.into();
    all.extend([ReceiveNot(Io::WouldBlock), Shutdown]);
    let mut script = Script(all);
    peer.readiness = EDGE;
    let turn = drive(&mut peer.connection, &mut script, &mut peer.readiness, NOW, 1_000_000);
    assert_eq!(turn, Turn::Waiting);
    assert!(script.0.is_empty());
}

#[test]
fn a_peer_that_never_stops_has_had_its_last_turn_when_the_budget_is_spent() {
    let mut peer = greeted();
    peer.budget = 60;
    peer.connection.drain();
    let lines = b"aaaaaaa\nbbbbbbb\nccccccc\nddddddd\neeeeeee\nfffffff\nggggggg\nhhhhhhh\n";
    peer.runs(EVENT, [Receive(64, lines)], Turn::Again);
    let calls = [
        Send(b"1: aaaaaaa\n2: bbbbbbb\n3: ccccccc\n4: ddddddd\n", 44),
        Send(b"5: eeeeeee\n6: fffffff\n7: ggggggg\n8: hhhhhhh\n", 44),
        Shutdown,
    ];
    peer.goes_on(calls, Turn::Again);
    peer.budget = 1_000;
    peer.goes_on([ReceiveNot(Io::End)], Turn::Closed(CloseReason::Drained));
}

#[test]
fn a_storm_of_interruptions_does_not_take_the_last_turn_away() {
    let mut peer = greeted();
    peer.connection.drain();
    let storm: [Expected; INTERRUPTS_IN_A_TURN as usize + 1] =
        core::array::from_fn(|_| ReceiveNot(Io::Interrupted));
    peer.runs(Readiness::NONE, storm, Turn::Again);
    assert!(peer.connection.owes_receive());
    peer.goes_on([Receive(64, b"a\n"), Send(b"1: a\n", 5), Shutdown], Turn::Waiting);
}

/// A transport that blocks until there is something, and has a clock.
struct Blocking {
    script: Script,
    ms: u64,
}

impl Transport for Blocking {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        self.ms += 100;
        self.script.receive(space)
    }
    fn send(&mut self, bytes: &[u8]) -> Io {
        self.ms += 10;
        self.script.send(bytes)
    }
    fn shutdown_write(&mut self) {
        self.script.shutdown_write();
    }
    fn now(&self, turn: Time) -> Time {
        assert_eq!(turn, NOW);
        Time::from_ms(self.ms)
    }
}

#[test]
fn a_transport_that_blocks_says_when_bytes_moved() {
    let mut peer = greeted();
    let calls: Vec<Expected> = [Receive(64, b"a\n"), Send(b"1: a\n", 5)].into();
    let mut transport = Blocking { script: Script(calls.into()), ms: 5_000 };
    let mut readiness = Readiness::ALL;
    let mut due = Vec::new();
    for _ in 0..2 {
        let turn = drive(&mut peer.connection, &mut transport, &mut readiness, NOW, 1);
        due.push((turn, peer.connection.deadline()));
        readiness = Readiness::ALL;
    }
    let at = |ms: u64| Some(Time::from_ms(ms + 30_000));
    assert_eq!(due, [(Turn::Again, at(5_100)), (Turn::Again, at(5_110))]);
}
