//! Rule 8: what each limit counts from, to the millisecond.

use super::script::{Call, NEWLINE, Script, line};
use super::talk::{LIMITS, START, Talk, echo};
use super::*;
use crate::IDLE_MS;

/// Nothing happens a millisecond before `due`, and at `due` the connection is over.
#[track_caller]
fn assert_expires<P: Protocol, const N: usize>(mut talk: Talk<P, N>, due: Time, reason: CloseReason) {
    assert_eq!(talk.connection.deadline(), Some(due));
    let wants = talk.connection.wants();
    talk.connection.handle_timeout(Time::from_ms(due.as_ms() - 1));
    assert_eq!(talk.connection.wants(), wants, "early");
    talk.connection.handle_timeout(due);
    talk.assert_over(reason);
}

#[test]
fn a_new_connection_idles_from_its_beginning() {
    assert_expires(Talk::<_, 64>::new(NumberedEcho::new()), START.after(30_000), CloseReason::IdleTimeout);
}

#[test]
fn bytes_that_move_either_way_begin_the_idle_time_anew() {
    let mut talk = echo::<64>();
    talk.pass(100).receive(b"a\n");
    assert_eq!(talk.connection.deadline(), Some(START.after(30_100)));
    talk.pass(100).take(1);
    assert_eq!(talk.connection.deadline(), Some(START.after(30_200)));
    talk.pass(100).take_all();
    assert_expires(talk, START.after(30_300), CloseReason::IdleTimeout);
}

#[test]
fn what_is_offered_while_output_is_pending_does_not_count() {
    let mut talk = echo::<64>();
    talk.receive(b"a\n");
    for _ in 0..29 {
        talk.pass(1_000);
        talk.connection.received(1, talk.now);
        talk.connection.transmitted(0, talk.now);
    }
    assert_expires(talk, START.after(30_000), CloseReason::IdleTimeout);
}

#[test]
fn a_slow_reader_is_not_cut() {
    let mut talk = echo::<4096>();
    talk.receive(&b"a\n".repeat(2048));
    for _ in 0..18 {
        talk.pass(29_999);
        talk.connection.handle_timeout(talk.now);
        assert!(!talk.take(1000).is_empty());
    }
}

#[test]
fn a_flush_idles_too() {
    let mut talk = echo::<64>();
    talk.pass(5).receive(b"quit\n");
    assert_expires(talk, START.after(30_005), CloseReason::IdleTimeout);
}

#[test]
fn no_limit_is_no_deadline() {
    let limits = Limits { idle_ms: 0, line_ms: 0, linger_ms: 2_000 };
    let mut talk = Talk::<_, 64>::with(Connection::new(NumberedEcho::new(), &limits, START));
    assert_eq!(talk.connection.deadline(), None);
    talk.take_all();
    talk.receive(b"half a line");
    assert_eq!(talk.connection.deadline(), None);
    talk.connection.handle_timeout(Time::from_ms(u64::MAX - 1));
    talk.assert_reads();
}

#[test]
fn the_defaults_are_thirty_seconds_idle_and_two_of_lingering() {
    assert_eq!(Limits::new(), Limits { idle_ms: IDLE_MS, line_ms: 0, linger_ms: 2_000 });
    assert_eq!(Limits::default(), Limits::new());
    assert_eq!(IDLE_MS, 30_000);
}

#[test]
fn the_limit_for_a_line_counts_from_its_first_byte() {
    let mut talk = echo::<64>();
    talk.pass(100).receive(b"a");
    for _ in 0..6 {
        talk.pass(1_000).receive(b"a");
        assert_eq!(talk.connection.deadline(), Some(START.after(7_100)));
    }
    assert_expires(talk, START.after(7_100), CloseReason::LineTimeout);
}

#[test]
fn a_whole_line_ends_its_limit_and_the_next_one_has_its_own() {
    let mut talk = echo::<64>();
    talk.receive(b"a");
    talk.pass(6_999).receive(b"\n");
    talk.expect(b"1: a\n");
    assert_eq!(talk.connection.deadline(), Some(START.after(36_999)));
    talk.pass(1).receive(b"b\nc");
    talk.expect(b"2: b\n");
    assert_expires(talk, START.after(7_000 + 7_000), CloseReason::LineTimeout);
}

#[test]
fn a_line_that_cannot_be_read_has_no_limit() {
    let mut talk = echo::<64>();
    talk.receive(b"a\nb");
    assert_eq!(talk.connection.deadline(), Some(START.after(30_000)), "the reply is pending");
    talk.pass(20_000).take_all();
    assert_expires(talk, START.after(27_000), CloseReason::LineTimeout);
}

#[test]
fn the_rest_of_a_line_that_is_dropped_has_a_limit_too() {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 4>::new(script.clone());
    script.say("no", Next::Line);
    talk.receive(b"aaaa");
    talk.pass(10).take_all();
    for _ in 0..6 {
        talk.pass(1_000).receive(b"a");
    }
    assert_expires(talk, START.after(10 + 7_000), CloseReason::LineTimeout);
}

#[test]
fn a_body_has_no_limit_for_a_line() {
    let script = Script::<NEWLINE>::new();
    script.then(|_| Next::Line).then(|_| Next::Body(10));
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"put\nab");
    assert_expires(talk, START.after(30_000), CloseReason::IdleTimeout);
}

#[test]
fn deadlines_saturate_at_the_end_of_time() {
    let near = Time::from_ms(u64::MAX - 5);
    let mut connection = Connection::<_, Box<Buffers<64>>, 64>::new(NumberedEcho::new(), &LIMITS, near);
    assert_eq!(connection.deadline(), None);
    connection.lend(Box::default(), near);
    connection.transmitted(6, near);
    connection.handle_timeout(near);
    assert_eq!(connection.action(), Action::Receive);
    assert_eq!(near.since_ms(START), u64::MAX - 5 - START.as_ms());
    assert_eq!(START.since_ms(near), 0);
}

#[test]
fn a_timer_is_told_once_when_it_is_due() {
    let script = Script::<NEWLINE>::new();
    script.then(|reply| {
        reply.set_timer(500);
        Next::Line
    });
    let mut talk = Talk::<_, 64>::new(script.clone());
    assert_eq!(talk.connection.deadline(), Some(START.after(500)));
    talk.pass(499);
    talk.connection.handle_timeout(talk.now);
    assert_eq!(script.calls(), [Call::Open]);
    talk.pass(1);
    script.say("tick", Next::Line);
    talk.connection.handle_timeout(talk.now);
    talk.connection.handle_timeout(talk.now);
    assert_eq!(script.calls(), [Call::Timer]);
    talk.expect(b"tick");
    assert_eq!(talk.connection.deadline(), Some(START.after(30_500)));
}

#[test]
fn a_timer_can_be_set_again_and_stopped() {
    let script = Script::<NEWLINE>::new();
    let set = |ms| {
        move |reply: &mut Reply<'_>| {
            reply.set_timer(ms);
            Next::Line
        }
    };
    script.then(set(500)).then(set(900)).then(|reply| {
        reply.stop_timer();
        Next::Line
    });
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.pass(100).receive(b"a\n");
    assert_eq!(talk.connection.deadline(), Some(START.after(1_000)));
    talk.receive(b"b\n");
    assert_eq!(talk.connection.deadline(), Some(START.after(30_100)));
    assert_eq!(script.calls(), [Call::Open, line(b"a"), line(b"b")]);
}

/// A connection whose timer came due while an answer was under way, and what ends that.
fn timer_behind_an_answer() -> (Script, Talk<Script, 64>, Ticket) {
    let script = Script::<NEWLINE>::new();
    script.then(|reply| {
        reply.set_timer(500);
        Next::Line
    });
    let ticket = script.later(0);
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"a\n");
    talk.pass(500);
    talk.connection.handle_timeout(talk.now);
    assert_eq!(script.calls(), [Call::Open, line(b"a")], "it waits");
    assert_eq!(talk.connection.deadline(), None, "and is no reason to wake up");
    let ticket = ticket.borrow_mut().take().unwrap();
    (script, talk, ticket)
}

#[test]
fn a_timer_waits_for_an_answer_that_is_under_way() {
    let (script, mut talk, ticket) = timer_behind_an_answer();
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    assert_eq!(script.calls(), [Call::Completed, Call::Timer]);
}

#[test]
fn a_timer_that_is_stopped_while_it_waits_is_not_told() {
    let (script, mut talk, ticket) = timer_behind_an_answer();
    script.then(|reply| {
        reply.stop_timer();
        Next::Line
    });
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    assert_eq!(script.calls(), [Call::Completed]);
}

#[test]
fn a_timer_that_is_set_anew_while_it_waits_is_told_at_its_new_time() {
    let (script, mut talk, ticket) = timer_behind_an_answer();
    script.then(|reply| {
        reply.set_timer(700);
        Next::Line
    });
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    assert_eq!(script.calls(), [Call::Completed]);
    assert_eq!(talk.connection.deadline(), Some(START.after(1_200)));
    talk.pass(700);
    talk.connection.handle_timeout(talk.now);
    assert_eq!(script.calls(), [Call::Timer]);
}

#[test]
fn restamping_moves_what_happened_in_a_turn_to_its_end() {
    let mut talk = echo::<64>();
    talk.pass(10).receive(b"a");
    let (began, ended) = (talk.now, talk.now.after(90));
    talk.connection.restamp(began, ended);
    assert_eq!(talk.connection.deadlines().idle, START.after(30_100));
    assert_eq!(talk.connection.deadlines().line, START.after(7_100));
    talk.connection.restamp(began, ended.after(1));
    assert_eq!(talk.connection.deadlines().idle, START.after(30_100), "what happened at another time stays");
    talk.receive(b"\nquit\n");
    talk.now = ended;
    talk.take_all();
    talk.connection.write_shut(talk.now);
    talk.connection.restamp(ended, ended.after(7));
    assert_eq!(talk.connection.deadline(), Some(START.after(2_107)));
}
