//! What comes beside the lines: answers from elsewhere, pushes, the timer.

use std::string::ToString;

use super::script::{Call, NEWLINE, Script, body, end, line};
use super::talk::{START, Talk, echo};
use super::*;
use crate::Token;

/// A connection that waits for an answer, with a line behind it.
fn waiting(timeout_ms: u32) -> (Script, Talk<Script, 64>, Ticket) {
    let script = Script::<NEWLINE>::new();
    script.then(|_| Next::Line);
    let ticket = script.later(timeout_ms);
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"ask\nnext\n");
    assert_eq!(script.calls(), [Call::Open, line(b"ask")]);
    talk.assert_waits(Interest::None, Action::Wait, Waiting::ForAnswer);
    let ticket = ticket.borrow_mut().take().unwrap();
    (script, talk, ticket)
}

#[test]
fn nothing_is_taken_until_the_answer_is_there() {
    let (script, mut talk, ticket) = waiting(0);
    assert!(talk.connection.receive_space().is_empty());
    assert_eq!(talk.connection.deadline(), None, "its idle time stands still");
    talk.connection.handle_timeout(talk.now.after(1_000_000));
    script.say("answer", Next::Line).say("next", Next::Line);
    let mut asked = 0;
    talk.pass(100).connection.complete(ticket, START.after(100), |_| asked += 1).unwrap();
    assert_eq!((asked, script.calls()), (1, std::vec![Call::Completed, line(b"next")]));
    talk.expect(b"answernext");
    assert_eq!(talk.connection.deadline(), Some(START.after(30_100)));
}

#[test]
fn an_answer_is_taken_once() {
    let (script, mut talk, ticket) = waiting(0);
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    let late = talk.connection.complete(ticket, talk.now, |_| panic!("not called"));
    assert_eq!(late, Err(Late));
    assert_eq!(Late.to_string(), "nobody waits for this answer any more");
    assert_eq!(script.calls(), [Call::Completed, line(b"next")]);
}

#[test]
fn an_answer_for_another_connection_or_question_is_refused() {
    let (script, mut talk, ticket) = waiting(0);
    let (_, mut other, _) = waiting(0);
    other.connection.set_token(Token::from_bits(7 << 32 | 1));
    assert_eq!(other.connection.complete(ticket, START, |_| {}), Err(Late));
    script.then(|_| Next::Line);
    let second = script.later(0);
    talk.connection.complete(ticket, START, |_| {}).unwrap();
    assert!(second.borrow().is_some());
    assert_eq!(talk.connection.complete(ticket, START, |_| {}), Err(Late), "that was the question before");
    let second = second.borrow_mut().take().unwrap();
    assert_eq!(second.token(), Token::default());
    talk.connection.complete(second, START, |_| {}).unwrap();
}

#[test]
fn an_answer_that_does_not_come_expires_once() {
    let (script, mut talk, ticket) = waiting(250);
    assert_eq!(talk.connection.deadline(), Some(START.after(250)));
    talk.connection.handle_timeout(START.after(249));
    assert_eq!(script.calls(), []);
    script.say("sorry", Next::Line);
    talk.now = START.after(250);
    talk.connection.handle_timeout(talk.now);
    assert_eq!(script.calls(), [Call::Expired, line(b"next")]);
    assert_eq!(talk.connection.complete(ticket, talk.now, |_| {}), Err(Late));
    talk.expect(b"sorry");
    assert_eq!(talk.connection.deadline(), Some(START.after(30_250)));
}

#[test]
fn an_expiry_closes_unless_the_protocol_says_otherwise() {
    let (_, mut talk, _) = waiting(250);
    talk.now = START.after(250);
    talk.connection.handle_timeout(talk.now);
    talk.assert_closes_by_lingering(CloseReason::Protocol);
}

#[test]
fn an_answer_without_buffers_waits_for_some() {
    let script = Script::<NEWLINE>::new();
    script.then(|_| Next::Line);
    let ticket = script.later(0);
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"ask\n");
    assert!(talk.connection.reclaim().is_some());
    talk.assert_waits(Interest::None, Action::Wait, Waiting::ForAnswer);
    let ticket = ticket.borrow_mut().take().unwrap();
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    talk.assert_waits(Interest::None, Action::Lend, Waiting::ForBuffers);
    script.calls();
    script.say("answer", Next::Line);
    talk.connection.lend(Box::default(), talk.now);
    assert_eq!(script.calls(), [Call::Completed]);
    talk.expect(b"answer");
}

#[test]
fn buffers_do_not_help_a_timer_that_waits_for_an_answer() {
    let script = Script::<NEWLINE>::new();
    script.then(|reply| {
        reply.set_timer(5);
        Next::Line
    });
    script.later(0);
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"ask\n");
    assert!(talk.connection.reclaim().is_some());
    talk.pass(5);
    talk.connection.handle_timeout(talk.now);
    talk.assert_waits(Interest::None, Action::Wait, Waiting::ForAnswer);
}

#[test]
fn an_answer_waits_behind_replies_that_did_not_leave() {
    let script = Script::<NEWLINE>::new();
    script.say("hello", Next::Line);
    let ticket = script.later(100);
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.take_all();
    let before = script.clone();
    before.then(|_| Next::Line);
    talk.receive(b"ask\n");
    let ticket = ticket.borrow_mut().take().unwrap();
    talk.connection.push(b"news", talk.now).unwrap();
    assert_eq!(talk.connection.deadlines().idle, START.after(30_000), "a peer that takes nothing idles");
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    assert_eq!(script.calls(), [Call::Open, line(b"ask")]);
    talk.expect(b"news");
    assert_eq!(script.calls(), [Call::Completed]);
}

#[test]
fn the_peers_end_is_told_behind_the_answer() {
    let (script, mut talk, ticket) = waiting(0);
    talk.end();
    assert_eq!(script.calls(), []);
    script.say("answer", Next::Line).say("next", Next::Line).say("end", Next::Line);
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    talk.expect(b"answernextend");
    assert_eq!(script.calls(), [Call::Completed, line(b"next"), end(b""), Call::Closed(CloseReason::PeerEnd)]);
}

#[test]
fn a_timeout_of_nothing_never_comes() {
    let (_, talk, ticket) = waiting(0);
    assert_eq!(talk.connection.deadline(), None);
    assert_eq!(ticket.token(), Token::from_bits(0));
}

#[test]
fn a_push_goes_between_replies_and_whole() {
    let mut talk = echo::<8>();
    talk.connection.push(b"news", talk.now).unwrap();
    talk.connection.push(b"1234", talk.now).unwrap();
    assert_eq!(talk.connection.push(b"5", talk.now), Err(NoRoom));
    talk.expect(b"news1234");
    talk.receive(b"a\n");
    assert_eq!(talk.connection.push(b"x", talk.now), Ok(()));
    talk.expect(b"1: a\nx");
}

#[test]
fn a_push_into_a_reply_that_is_not_complete_is_refused() {
    let mut talk = Talk::<_, 8>::new(NumberedEcho::new());
    assert_eq!(talk.take(3), b"rea");
    talk.connection.push(b"x", talk.now).unwrap();
    talk.expect(b"dy\nx");
    talk.receive(b"1234567\n");
    assert_eq!(talk.take(7), b"1: 1234");
    assert_eq!(talk.connection.push(b"x", talk.now), Err(NoRoom));
    talk.expect(b"567\n");
}

#[test]
fn a_push_before_the_greeting_behind_the_close_or_without_buffers_is_refused() {
    let mut connection = Connection::<_, Box<Buffers<4>>, 4>::new(NumberedEcho::new(), &Limits::new(), START);
    assert_eq!(connection.push(b"x", START), Err(NoRoom));
    connection.lend(Box::default(), START);
    assert_eq!(connection.push(b"x", START), Err(NoRoom), "half of the greeting is there");
    let mut talk = echo::<64>();
    talk.receive(b"quit\n");
    assert_eq!(talk.connection.push(b"x", START), Err(NoRoom));
    talk.expect(b"bye\n");
    assert_eq!(talk.connection.push(b"x", START), Err(NoRoom));
    talk.connection.failed();
    assert_eq!(talk.connection.push(b"x", START), Err(NoRoom));
}

#[test]
fn a_push_that_begins_to_wait_begins_the_idle_time() {
    let mut talk = echo::<64>();
    talk.connection.push(b"news", START.after(1_000)).unwrap();
    talk.connection.push(b"news", START.after(2_000)).unwrap();
    assert_eq!(talk.connection.deadline(), Some(START.after(31_000)), "the second one changed nothing");
}

#[test]
fn a_push_of_nothing_is_nothing() {
    let mut talk = echo::<64>();
    talk.connection.push(b"", START.after(1_000)).unwrap();
    talk.assert_reads();
    assert_eq!(talk.connection.deadline(), Some(START.after(30_000)));
}

/// A connection whose timer is due and has said the first half of what it has to say.
fn half_told() -> (Script, Talk<Script, 8>) {
    let script = Script::<NEWLINE>::new();
    script.then(|reply| {
        reply.set_timer(5);
        Next::Line
    });
    script.say("reply", Next::Line).say("tick", Next::More);
    let mut talk = Talk::<_, 8>::new(script.needs(6).clone());
    talk.receive(b"a\nb\n");
    talk.pass(5);
    talk.connection.handle_timeout(talk.now);
    assert_eq!(script.calls(), [Call::Open, line(b"a")], "it waits for an empty output");
    talk.take(5);
    assert_eq!(script.calls(), [Call::Timer]);
    script.needs(0);
    (script, talk)
}

#[test]
fn no_reply_goes_into_the_middle_of_what_a_timer_says() {
    let (script, mut talk) = half_told();
    script.say("tock", Next::Line).say("b", Next::Line);
    assert_eq!(talk.take(1), b"t");
    assert_eq!(script.calls(), []);
    talk.expect(b"icktockb");
    assert_eq!(script.calls(), [Call::Timer, line(b"b")]);
}

#[test]
fn no_push_goes_into_the_middle_of_what_a_timer_says() {
    let (script, mut talk) = half_told();
    script.say("tock", Next::Line);
    assert_eq!(talk.connection.push(b"x", talk.now), Err(NoRoom));
    talk.expect(b"ticktock");
    assert_eq!(talk.connection.push(b"x", talk.now), Ok(()));
}

#[test]
fn a_timer_that_says_half_and_sets_itself_again_says_the_other_half_first() {
    let (script, mut talk) = half_told();
    script.then(|reply| {
        reply.set_timer(5);
        reply.put(b"tock").unwrap();
        Next::More
    });
    script.say("!", Next::Line).say("b", Next::Line).say("again", Next::Line);
    talk.expect(b"ticktock!b");
    assert_eq!(script.calls(), [Call::Timer, Call::Timer, line(b"b")]);
    talk.pass(5);
    talk.connection.handle_timeout(talk.now);
    talk.expect(b"again");
}

#[test]
fn a_timer_comes_between_the_parts_of_a_body() {
    let script = Script::<NEWLINE>::new();
    script.then(|reply| {
        reply.set_timer(5);
        Next::Line
    });
    script.then(|_| Next::Body(4));
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"put\n12");
    talk.pass(5);
    script.say("tick", Next::Line);
    talk.connection.handle_timeout(talk.now);
    talk.expect(b"tick");
    talk.receive(b"34a\n");
    assert_eq!(script.calls(), [Call::Open, line(b"put"), body(b"12", 2), Call::Timer, body(b"34", 0), line(b"a")]);
}

#[test]
fn a_timer_without_buffers_waits_for_some() {
    let script = Script::<NEWLINE>::new();
    script.then(|reply| {
        reply.set_timer(5);
        Next::Line
    });
    let mut talk = Talk::<_, 64>::new(script.clone());
    assert!(talk.connection.reclaim().is_some());
    talk.pass(5);
    talk.connection.handle_timeout(talk.now);
    talk.assert_waits(Interest::None, Action::Lend, Waiting::ForBuffers);
    assert_eq!(talk.connection.deadline(), Some(START.after(30_000)));
    talk.connection.lend(Box::default(), talk.now);
    assert_eq!(script.calls(), [Call::Open, Call::Timer]);
    talk.assert_reads();
}

#[test]
fn a_reply_knows_the_name_of_its_connection() {
    let script = Script::<NEWLINE>::new();
    script.then(|reply| {
        assert_eq!(reply.token(), Token::from_bits(5));
        Next::Line
    });
    let mut connection = Connection::<_, Box<Buffers<8>>, 8>::new(script, &Limits::new(), START);
    connection.set_token(Token::from_bits(5));
    connection.lend(Box::default(), START);
    assert_eq!(connection.action(), Action::Receive);
}

#[test]
fn what_was_pipelined_can_be_seen() {
    let mut talk = echo::<64>();
    assert!(!talk.connection.has_unread_input());
    talk.receive(b"a\nb");
    assert!(talk.connection.has_unread_input());
    talk.take_all();
    talk.receive(b"\n");
    assert!(!talk.connection.has_unread_input());
}
