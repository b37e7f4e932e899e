//! Rule 12: what a shutdown of the server means for one connection.

use super::script::{Call, NEWLINE, Script, line};
use super::talk::{LIMITS, START, Talk, echo};
use super::*;

/// A drain whose last turn to receive brings nothing.
fn drain<P: Protocol, const N: usize>(talk: &mut Talk<P, N>) {
    talk.connection.drain();
    assert!(talk.connection.is_draining() && talk.connection.owes_receive());
    talk.connection.drained(talk.now);
}

#[test]
fn an_idle_connection_closes_and_lingers() {
    let mut talk = echo::<64>();
    drain(&mut talk);
    talk.assert_closes_by_lingering(CloseReason::Drained);
}

#[test]
fn the_last_turn_is_answered_and_a_tail_is_dropped() {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"tail");
    talk.connection.drain();
    talk.assert_reads();
    script.say("a", Next::Line).say("b", Next::Line);
    talk.receive(b" a\nb\ntail");
    assert!(talk.connection.owes_receive(), "the driver says when the turn is over");
    talk.take_all();
    talk.connection.drained(talk.now);
    assert_eq!(script.calls(), [Call::Open, line(b"tail a"), line(b"b")], "a dropped tail is told to nobody");
    talk.assert_closes_by_lingering(CloseReason::Drained);
}

#[test]
fn lines_that_wait_for_room_are_answered_first() {
    let mut talk = echo::<8>();
    talk.receive(b"a\nb\nc\nd");
    talk.connection.drain();
    talk.connection.drained(talk.now);
    talk.assert_waits(Interest::Write, Action::Send, Waiting::ForRoom);
    talk.expect(b"1: a\n2: b\n3: c\n");
    talk.assert_closes_by_lingering(CloseReason::Drained);
}

#[test]
fn a_connection_without_buffers_gets_some_for_its_last_turn() {
    let mut talk = echo::<64>();
    assert!(talk.connection.reclaim().is_some());
    talk.connection.drain();
    talk.assert_waits(Interest::None, Action::Lend, Waiting::ForBuffers);
    talk.connection.lend(Box::default(), talk.now);
    talk.assert_reads();
    talk.connection.drained(talk.now);
    talk.assert_closes_by_lingering(CloseReason::Drained);
}

#[test]
fn the_greeting_leaves_first() {
    let mut talk = Talk::<_, 4>::new(NumberedEcho::new());
    drain(&mut talk);
    talk.expect(b"ready\n");
    talk.assert_closes_by_lingering(CloseReason::Drained);
}

#[test]
fn quit_and_the_peers_end_keep_their_reason() {
    let mut talk = echo::<64>();
    talk.connection.drain();
    talk.receive(b"quit\n");
    talk.connection.drained(talk.now);
    talk.expect(b"bye\n");
    talk.assert_closes_by_lingering(CloseReason::Protocol);
    let mut talk = echo::<64>();
    talk.connection.drain();
    talk.receive(b"a\n");
    talk.end();
    talk.expect(b"1: a\n");
    talk.assert_over(CloseReason::PeerEnd);
}

#[test]
fn a_body_that_is_not_whole_is_dropped() {
    for next in [Next::Body(10), Next::Skip(10)] {
        let script = Script::<NEWLINE>::new();
        script.then(|_| Next::Line).then(move |_| next);
        let mut talk = Talk::<_, 64>::new(script.clone());
        talk.receive(b"put\n123");
        drain(&mut talk);
        talk.assert_closes_by_lingering(CloseReason::Drained);
    }
}

#[test]
fn the_rest_of_a_refused_line_is_not_waited_for() {
    let script = Script::<NEWLINE>::new();
    script.then(|_| Next::Line).say("no", Next::Line);
    let mut talk = Talk::<_, 4>::new(script.clone());
    talk.exchange(b"12345");
    drain(&mut talk);
    talk.assert_closes_by_lingering(CloseReason::Drained);
}

#[test]
fn an_answer_that_is_under_way_is_waited_for() {
    let script = Script::<NEWLINE>::new();
    script.then(|_| Next::Line);
    let ticket = script.later(0);
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"a\nb\n");
    drain(&mut talk);
    talk.assert_waits(Interest::None, Action::Wait, Waiting::ForAnswer);
    script.say("a", Next::Line).say("b", Next::Line);
    let ticket = ticket.borrow_mut().take().unwrap();
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    talk.expect(b"ab");
    talk.assert_closes_by_lingering(CloseReason::Drained);
}

#[test]
fn a_drain_keeps_the_limits_and_is_harmless_when_repeated() {
    let mut talk = echo::<64>();
    talk.receive(b"a\n");
    drain(&mut talk);
    talk.connection.drain();
    assert!(talk.connection.is_draining() && !talk.connection.owes_receive());
    assert_eq!(talk.connection.deadline(), Some(START.after(LIMITS.idle_ms)));
    talk.expect(b"1: a\n");
    talk.connection.write_shut(talk.now);
    talk.connection.drain();
    talk.connection.drained(talk.now);
    talk.end();
    talk.connection.drain();
    talk.assert_over(CloseReason::Drained);
}

#[test]
fn drained_without_a_drain_is_nothing() {
    let mut talk = echo::<64>();
    talk.connection.drained(talk.now);
    talk.assert_reads();
    assert!(!talk.connection.is_draining());
}
