//! Calls that do not fit the state, come early, or come twice change nothing.

use std::format;
use std::string::String;

use super::script::{NEWLINE, Script};
use super::talk::{LIMITS, START, Talk, echo};
use super::*;

/// Everything about a connection, for comparing it with itself.
fn all<P: Protocol + core::fmt::Debug, const N: usize>(talk: &Talk<P, N>) -> String {
    format!("{:?}", talk.connection)
}

/// Does what is harmless everywhere, and compares.
#[track_caller]
fn assert_nothing_changes<const N: usize>(talk: &mut Talk<NumberedEcho, N>, state: &str) {
    let before = all(talk);
    let now = talk.now;
    let connection = &mut talk.connection;
    connection.received(0, now);
    connection.transmitted(0, now);
    connection.handle_timeout(now);
    connection.drained(now);
    let ticket = Ticket { token: crate::Token::default(), serial: 0, timeout_ms: 0 };
    assert_eq!(connection.complete(ticket, now, |_| panic!("not called")), Err(Late));
    if connection.action() != Action::ShutdownWrite {
        connection.write_shut(now);
    }
    if connection.transmit().is_empty() {
        connection.transmitted(5, now);
    }
    if connection.action() != Action::Receive {
        connection.received(5, now);
    }
    if connection.has_buffers() {
        connection.lend(Box::default(), now);
    }
    connection.transmit();
    connection.receive_space();
    assert_eq!(all(talk), before, "{state}");
}

#[test]
fn calls_that_do_not_fit_change_nothing_in_any_state() {
    let mut talk = Talk::<_, 64>::new(NumberedEcho::new());
    assert_nothing_changes(&mut talk, "greeting");
    talk.take_all();
    assert_nothing_changes(&mut talk, "open");
    talk.receive(b"a");
    assert_nothing_changes(&mut talk, "half a line");
    talk.receive(b"\n");
    assert_nothing_changes(&mut talk, "reply pending");
    talk.take_all();
    assert!(talk.connection.reclaim().is_some());
    assert_nothing_changes(&mut talk, "without buffers");
    talk.connection.lend(Box::default(), START);
    talk.receive(b"quit\n");
    assert_nothing_changes(&mut talk, "flushing");
    talk.take_all();
    assert_nothing_changes(&mut talk, "to be shut");
    talk.connection.write_shut(START);
    assert_nothing_changes(&mut talk, "lingering");
    talk.end();
    assert_nothing_changes(&mut talk, "closed");
    talk.end();
    talk.connection.failed();
    talk.connection.abandon(CloseReason::IdleTimeout);
    assert_nothing_changes(&mut talk, "closed twice");
}

#[test]
fn more_than_there_is_counts_as_all_of_it() {
    let mut talk = echo::<8>();
    talk.connection.receive_space().fill(b'\n');
    talk.connection.received(usize::MAX, START);
    assert_eq!(talk.connection.transmit(), b"1: \n");
    talk.connection.transmitted(usize::MAX, START);
    assert_eq!(talk.connection.transmit(), b"2: \n");
    talk.connection.transmitted(5, START);
    talk.expect(b"3: \n4: \n5: \n6: \n7: \n8: \n");
}

#[test]
fn buffers_that_are_lent_are_emptied_first() {
    let mut used = Box::new(Buffers::<8>::new());
    {
        let mut connection = Connection::<_, &mut Buffers<8>, 8>::new(NumberedEcho::new(), &LIMITS, START);
        connection.lend(&mut used, START);
        assert!(connection.reclaim().is_none());
        assert!(connection.has_buffers());
    }
    assert!(!used.is_empty());
    let mut talk = Talk { connection: Connection::new(NumberedEcho::new(), &LIMITS, START), now: START };
    talk.connection.lend(used, START);
    talk.expect(b"ready\n");
}

#[test]
fn buffers_that_hold_something_are_not_given_back() {
    let mut talk = echo::<64>();
    for (sent, back) in [(&b"a"[..], false), (b"\n", false)] {
        talk.receive(sent);
        assert_eq!(talk.connection.reclaim().is_some(), back);
    }
    talk.take(3);
    assert!(talk.connection.reclaim().is_none());
    talk.take_all();
    assert!(talk.connection.reclaim().is_some());
    assert!(talk.connection.reclaim().is_none());
}

#[test]
fn without_buffers_nothing_moves() {
    let mut connection = Connection::<_, Box<Buffers<8>>, 8>::new(NumberedEcho::new(), &LIMITS, START);
    assert!(connection.transmit().is_empty() && connection.receive_space().is_empty());
    assert_eq!(connection.wants().waiting, Waiting::ForBuffers);
    assert!(!connection.has_unread_input());
    connection.received(3, START);
    connection.transmitted(3, START);
    assert_eq!(connection.action(), Action::Lend);
    connection.received_end(START);
    assert_eq!((connection.action(), connection.interest()), (Action::Lend, Interest::None));
    connection.lend(Box::default(), START);
    assert_eq!(connection.transmit(), b"ready\n");
    connection.transmitted(6, START);
    assert_eq!(connection.action(), Action::Close(CloseReason::PeerEnd));
}

#[test]
fn an_end_that_is_told_while_replies_leave_waits_for_them() {
    let script = Script::<NEWLINE>::new();
    script.say("hello", Next::Close);
    let mut talk = Talk::<_, 64>::new(script);
    talk.end();
    talk.assert_waits(Interest::Write, Action::Send, Waiting::ForRoom);
    talk.expect(b"hello");
    talk.assert_over(CloseReason::Protocol);
}
