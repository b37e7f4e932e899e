//! Rules 4, 5, 10 and 15: half-closes, closes that lose nothing, refusals, failures and panics.

use super::script::{Call, Script, end, line};
use super::talk::{LIMITS, START, Talk, echo};
use super::*;

#[test]
fn a_half_close_gets_every_reply_and_then_our_end() {
    let mut talk = echo::<4096>();
    talk.receive(b"a\nb\nc\ntail");
    talk.end();
    talk.assert_waits(Interest::Write, Action::Send, Waiting::ForRoom);
    assert_eq!(talk.take(5), b"1: a\n");
    talk.expect(b"2: b\n3: c\n");
    talk.assert_over(CloseReason::PeerEnd);
}

#[test]
fn an_end_without_anything_pending_is_the_end() {
    let mut talk = echo::<4096>();
    talk.end();
    talk.assert_over(CloseReason::PeerEnd);
}

#[test]
fn an_end_before_the_greeting_left_still_gets_it() {
    let mut talk = Talk::<_, 4>::new(NumberedEcho::new());
    talk.end();
    talk.expect(b"ready\n");
    talk.assert_over(CloseReason::PeerEnd);
}

#[test]
fn after_quit_what_arrives_is_discarded_until_the_peers_end() {
    let mut talk = echo::<64>();
    talk.receive(b"a\nquit\nb\n");
    talk.expect(b"1: a\nbye\n");
    talk.assert_waits(Interest::None, Action::ShutdownWrite, Waiting::ForShutdown);
    talk.connection.write_shut(talk.now);
    for _ in 0..100 {
        talk.receive(&[b'\n'; 64]);
        talk.expect(b"");
        talk.assert_waits(Interest::Read, Action::Receive, Waiting::ForPeerEnd);
    }
    assert_eq!(talk.connection.deadline(), Some(START.after(LIMITS.linger_ms)));
    talk.end();
    talk.assert_over(CloseReason::Protocol);
}

#[test]
fn a_line_too_long_lingers_too() {
    let mut talk = echo::<8>();
    talk.receive(b"12345678");
    talk.expect(b"line too long\n");
    talk.assert_closes_by_lingering(CloseReason::Protocol);
}

#[test]
fn lingering_ends_after_two_seconds_in_total() {
    let mut talk = echo::<64>();
    talk.receive(b"quit\n");
    talk.expect(b"bye\n");
    talk.connection.write_shut(talk.now);
    talk.pass(1_999).receive(b"more");
    talk.connection.handle_timeout(talk.now);
    talk.assert_waits(Interest::Read, Action::Receive, Waiting::ForPeerEnd);
    talk.pass(1);
    talk.connection.handle_timeout(talk.now);
    talk.assert_over(CloseReason::Protocol);
}

#[test]
fn a_lingering_connection_needs_buffers_only_to_receive() {
    let mut talk = echo::<64>();
    talk.receive(b"quit\n");
    talk.expect(b"bye\n");
    assert!(talk.connection.reclaim().is_some(), "nothing is pending");
    talk.assert_waits(Interest::None, Action::ShutdownWrite, Waiting::ForShutdown);
    talk.connection.write_shut(talk.now);
    talk.assert_waits(Interest::Read, Action::Lend, Waiting::ForPeerEnd);
    talk.connection.lend(Box::default(), talk.now);
    talk.receive(b"x");
    assert!(talk.connection.reclaim().is_some(), "what arrived was discarded");
}

#[test]
fn a_peer_that_had_ended_is_not_lingered_for() {
    let mut talk = echo::<64>();
    talk.receive(b"quit\n");
    talk.end();
    talk.expect(b"bye\n");
    talk.assert_over(CloseReason::Protocol);
    let mut talk = echo::<64>();
    talk.receive(b"quit\n");
    talk.expect(b"bye\n");
    talk.end();
    talk.assert_over(CloseReason::Protocol);
}

#[test]
fn a_transport_that_failed_ends_everything_at_once() {
    for lines in [&b"a\n"[..], b"a", b"", b"quit\n"] {
        let mut talk = echo::<64>();
        talk.receive(lines);
        talk.connection.failed();
        talk.assert_over(CloseReason::Failed);
        assert!(talk.connection.reclaim().is_some(), "the buffers come back empty");
    }
    let mut talk = echo::<64>();
    talk.receive(b"quit\n");
    talk.expect(b"bye\n");
    talk.connection.write_shut(talk.now);
    talk.connection.failed();
    talk.assert_over(CloseReason::Protocol);
}

#[test]
fn the_protocol_is_told_the_end_once() {
    let script = Script::<0>::new();
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"a\n");
    talk.end();
    talk.connection.failed();
    talk.connection.abandon(CloseReason::DrainTimeout);
    talk.connection.panicked();
    talk.end();
    assert_eq!(script.calls(), [Call::Open, line(b"a"), end(b""), Call::Closed(CloseReason::PeerEnd)]);
}

#[test]
fn an_abandoned_connection_says_why() {
    for reason in [CloseReason::DrainTimeout, CloseReason::IdleTimeout] {
        let mut talk = echo::<64>();
        talk.receive(b"a\n");
        talk.connection.abandon(reason);
        talk.assert_over(reason);
        assert_eq!(reason.is_timeout(), talk.connection.action() == Action::Close(reason));
    }
}

#[test]
fn a_panic_drops_the_protocol_without_another_call() {
    let script = Script::<0>::new();
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"a\n");
    script.calls();
    talk.connection.panicked();
    talk.assert_over(CloseReason::Panicked);
    assert!(talk.connection.protocol().is_none());
    assert_eq!(script.calls(), []);
    talk.connection.lend(Box::default(), talk.now);
    talk.assert_over(CloseReason::Panicked);
}

fn refused<const N: usize>() -> Talk<NumberedEcho, N> {
    Talk::with(Connection::refuse(b"server full\n", &LIMITS, START))
}

#[test]
fn a_refused_client_is_told_and_closed() {
    let mut talk = refused::<4096>();
    assert!(talk.connection.protocol().is_none());
    talk.expect(b"server full\n");
    talk.assert_closes_by_lingering(CloseReason::Refused);
}

#[test]
fn a_refusal_leaves_in_pieces_through_a_small_buffer() {
    let mut talk = refused::<4>();
    assert_eq!(talk.connection.transmit(), b"serv");
    talk.expect(b"server full\n");
    talk.assert_closes_by_lingering(CloseReason::Refused);
}

#[test]
fn a_refusal_without_buffers_waits_for_some() {
    let mut connection = Connection::<NumberedEcho, Box<Buffers<64>>, 64>::refuse(b"full\n", &LIMITS, START);
    assert_eq!(connection.action(), Action::Lend);
    assert_eq!(connection.wants().waiting, Waiting::ForBuffers);
    connection.lend(Box::default(), START);
    assert_eq!(connection.transmit(), b"full\n");
}

#[test]
fn a_refused_client_that_takes_nothing_times_out() {
    let mut talk = refused::<64>();
    talk.now = START.after(LIMITS.idle_ms);
    talk.connection.handle_timeout(talk.now);
    talk.assert_over(CloseReason::IdleTimeout);
}

#[test]
fn what_a_refused_client_says_does_not_count() {
    let mut talk = refused::<4096>();
    talk.end();
    talk.expect(b"server full\n");
    talk.assert_over(CloseReason::Refused);
    assert_eq!(talk.connection.push(b"x", talk.now), Err(NoRoom));
}
