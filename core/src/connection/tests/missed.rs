//! What a protocol is told of pushes that were refused.

use super::script::{Call, NEWLINE, Script, line};
use super::talk::{START, Talk};
use super::*;

/// A connection with eight bytes of output, six of which are taken by a push.
fn nearly_full() -> (Script, Talk<Script, 8>) {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    talk.connection.push(b"first.", talk.now).unwrap();
    assert_eq!(script.calls(), [Call::Open]);
    (script, talk)
}

#[test]
fn it_is_told_once_when_there_is_room_again() {
    let (script, mut talk) = nearly_full();
    for bytes in [&b"second"[..], b"3", b"4"] {
        assert_eq!(talk.connection.push(bytes, talk.now), Err(NoRoom), "nothing overtakes what was refused");
    }
    assert_eq!(talk.take(5), b"first");
    assert_eq!(script.calls(), [], "not before the output is empty");
    script.say("3 lost", Next::Line);
    talk.expect(b".3 lost");
    assert_eq!(script.calls(), [Call::Missed(3)]);
    talk.receive(b"a\n");
    talk.take_all();
    assert_eq!(script.calls(), [line(b"a")]);
}

#[test]
fn it_is_told_also_in_the_middle_of_a_line_that_is_received() {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    talk.receive(b"half");
    assert_eq!(talk.connection.push(b"first.", talk.now), Ok(()));
    assert_eq!(talk.connection.push(b"second", talk.now), Err(NoRoom));
    script.say(" 1 lost", Next::Line);
    talk.expect(b"first. 1 lost");
    talk.receive(b" a\n");
    assert_eq!(script.calls(), [Call::Open, Call::Missed(1), line(b"half a")]);
}

#[test]
fn it_is_told_before_the_next_line_and_no_reply_lands_in_what_it_says() {
    let (script, mut talk) = nearly_full();
    assert_eq!(talk.connection.push(b"second", talk.now), Err(NoRoom));
    talk.take(6);
    assert_eq!(script.calls(), [Call::Missed(1)]);

    let (script, mut talk) = nearly_full();
    talk.take_all();
    // The first line fills the output, so that the second one waits with what was missed.
    script.needs(8).say("8 bytes.", Next::Line).say("long", Next::More).say(" story", Next::Line);
    script.say("reply", Next::Line);
    talk.receive(b"a\nb\n");
    assert_eq!(talk.connection.push(b"x", talk.now), Err(NoRoom));
    assert_eq!(talk.take(8), b"8 bytes.");
    assert_eq!(script.calls(), [line(b"a"), Call::Missed(1)]);
    assert_eq!(talk.connection.push(b"y", talk.now), Err(NoRoom), "not into the middle of it");
    talk.expect(b"long storyreply");
    assert_eq!(script.calls(), [Call::Missed(2), line(b"b")], "a refusal meanwhile counts as well");
}

#[test]
fn a_push_that_no_room_would_be_enough_for_is_not_missed() {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    assert_eq!(talk.connection.push(b"123456789", talk.now), Err(NoRoom));
    talk.assert_reads();
    assert!(talk.connection.reclaim().is_some());
    talk.assert_waits(Interest::Read, Action::Lend, Waiting::ForInput);
    talk.connection.lend(Box::default(), talk.now);
    talk.receive(b"a\n");
    assert_eq!(script.calls(), [Call::Open, line(b"a")]);
}

#[test]
fn without_buffers_it_waits_for_some() {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    assert!(talk.connection.reclaim().is_some());
    assert_eq!(talk.connection.push(b"news", talk.now), Err(NoRoom));
    talk.assert_waits(Interest::None, Action::Lend, Waiting::ForBuffers);
    script.say("lost", Next::Line);
    script.calls();
    talk.connection.lend(Box::default(), talk.now);
    assert_eq!(script.calls(), [Call::Missed(1)]);
    talk.expect(b"lost");
    talk.assert_reads();
}

#[test]
fn it_waits_for_an_answer_that_is_under_way() {
    let (script, mut talk) = nearly_full();
    let ticket = script.later(0);
    talk.take_all();
    talk.receive(b"ask\n");
    talk.connection.push(b"first.", talk.now).unwrap();
    assert_eq!(talk.connection.push(b"second", talk.now), Err(NoRoom));
    talk.take_all();
    assert_eq!(script.calls(), [line(b"ask")]);
    script.say("answer", Next::Line);
    let ticket = ticket.borrow_mut().take().unwrap();
    talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
    assert_eq!(script.calls(), [Call::Completed]);
    talk.expect(b"answer");
    assert_eq!(script.calls(), [Call::Missed(1)]);
}

#[test]
fn a_timer_that_is_due_as_well_comes_first_and_both_come() {
    let (script, mut talk) = nearly_full();
    talk.take_all();
    script.then(|reply| {
        reply.set_timer(5);
        reply.put(b"reply").map_or(Next::Close, |()| Next::Line)
    });
    talk.receive(b"a\n");
    assert_eq!(talk.connection.push(b"news", talk.now), Err(NoRoom));
    talk.pass(5);
    talk.connection.handle_timeout(talk.now);
    script.say("tick", Next::Line).say("lost", Next::Line);
    talk.expect(b"replyticklost");
    assert_eq!(script.calls(), [line(b"a"), Call::Timer, Call::Missed(1)]);
    assert_eq!(talk.connection.deadline(), Some(START.after(30_005)));
}

#[test]
fn it_may_close_and_nothing_that_it_says_is_awaited_for_ever() {
    for (next, reason) in [(Next::Close, CloseReason::Protocol), (Next::More, CloseReason::NoProgress)] {
        let (script, mut talk) = nearly_full();
        assert_eq!(talk.connection.push(b"second", talk.now), Err(NoRoom));
        script.then(move |_| next);
        talk.expect(b"first.");
        talk.assert_closes_by_lingering(reason);
    }
}

#[test]
fn behind_the_close_nothing_is_missed() {
    let (script, mut talk) = nearly_full();
    script.say("b", Next::Close);
    talk.take_all();
    talk.receive(b"bye\n");
    assert_eq!(talk.connection.push(b"12345678", talk.now), Err(NoRoom));
    talk.expect(b"b");
    talk.assert_closes_by_lingering(CloseReason::Protocol);
    assert_eq!(script.calls(), [line(b"bye"), Call::Closed(CloseReason::Protocol)]);
}

/// What the table does not allow is a mistake of the protocol's author: said in a debug build, harmless in others.
#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "`missed` may not change what comes next")]
fn announcing_bytes_in_it_is_told_off() {
    let (script, mut talk) = nearly_full();
    assert_eq!(talk.connection.push(b"second", talk.now), Err(NoRoom));
    script.then(|_| Next::Body(1));
    talk.take_all();
}
