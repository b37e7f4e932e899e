//! The table of [`Protocol`]: every answer from every call, and what follows it.

use std::vec::Vec;

use super::script::{CR_LF, Call, Script, body, line};
use super::talk::{Talk, show};
use super::*;

/// The calls that may say what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Open,
    Line,
    Body,
    TooLong,
    BareNewline,
    Completed,
    Expired,
    Timer,
    End,
}

impl From {
    const ALL: [Self; 9] = [
        Self::Open,
        Self::Line,
        Self::Body,
        Self::TooLong,
        Self::BareNewline,
        Self::Completed,
        Self::Expired,
        Self::Timer,
        Self::End,
    ];

    /// What is to be refused before the next line begins.
    fn rest(self) -> &'static [u8] {
        match self {
            Self::TooLong | Self::BareNewline => b"rest\nrest\r\n",
            _ => b"",
        }
    }

    /// How the call is to be seen in the script.
    fn call(self) -> Call {
        match self {
            Self::Open => Call::Open,
            Self::Line => line(b"now"),
            Self::Body => body(b"xy", 0),
            Self::TooLong => Call::TooLong,
            Self::BareNewline => Call::BareNewline,
            Self::Completed => Call::Completed,
            Self::Expired => Call::Expired,
            Self::Timer => Call::Timer,
            Self::End => script::end(b"tail"),
        }
    }
}

type Answer = fn(&mut Reply<'_>) -> Next;

/// Brings a connection to make one call, which is answered so.
fn made(from: From, answer: Answer) -> (Script<CR_LF>, Talk<Script<CR_LF>, 16>) {
    let script = Script::<CR_LF>::new();
    if from == From::Timer {
        script.then(|reply| {
            reply.set_timer(5);
            Next::Line
        });
    } else if from != From::Open {
        script.then(|_| Next::Line);
    }
    let mut ticket = None;
    match from {
        From::Body => {
            script.then(|_| Next::Body(2));
        }
        From::Completed => ticket = Some(script.later(0)),
        From::Expired => ticket = Some(script.later(5)),
        _ => {}
    }
    script.then(answer);
    let mut talk = Talk::<_, 16>::new(script.clone());
    match from {
        From::Open => {}
        From::Line => talk.receive(b"now\r\n"),
        From::Body => talk.receive(b"go\r\nxy"),
        From::TooLong => talk.receive(b"0123456789abcdef"),
        From::BareNewline => talk.receive(b"bare\n"),
        From::Completed => {
            talk.receive(b"ask\r\n");
            let ticket = ticket.unwrap().borrow_mut().take().unwrap();
            talk.connection.complete(ticket, talk.now, |_| {}).unwrap();
        }
        From::Expired => {
            talk.receive(b"ask\r\n");
            talk.pass(5);
            talk.connection.handle_timeout(talk.now);
        }
        From::Timer => {
            talk.pass(5);
            talk.connection.handle_timeout(talk.now);
        }
        From::End => {
            talk.receive(b"tail");
            talk.end();
        }
    }
    let calls = script.calls();
    assert_eq!(calls.iter().filter(|&call| *call == from.call()).count(), 1, "{from:?}: {calls:?}");
    (script, talk)
}

/// What was called for these bytes.
fn calls_for(script: &Script<CR_LF>, talk: &mut Talk<Script<CR_LF>, 16>, bytes: &[u8]) -> Vec<Call> {
    let said = talk.exchange(bytes);
    assert_eq!(said, b"", "{}", show(&said));
    script.calls()
}

#[test]
fn a_line_follows() {
    for from in From::ALL {
        let (script, mut talk) = made(from, |_| Next::Line);
        if from == From::End {
            talk.assert_over(CloseReason::PeerEnd);
            continue;
        }
        let bytes = [from.rest(), b"ab\r\n"].concat();
        assert_eq!(calls_for(&script, &mut talk, &bytes), [line(b"ab")], "{from:?}");
    }
}

#[test]
fn a_body_follows() {
    for from in From::ALL {
        // These have no bytes to announce: the last test has what is said of them.
        if matches!(from, From::Timer | From::End) {
            continue;
        }
        let (script, mut talk) = made(from, |_| Next::Body(3));
        let expected = match from {
            // The line that was refused is what the bytes are taken from.
            From::TooLong => std::vec![line(b"ab")],
            _ => std::vec![body(b"\r\n.", 0), line(b"ab")],
        };
        let bytes = [if from == From::TooLong { &b""[..] } else { b"\r\n." }, from.rest(), b"ab\r\n"].concat();
        assert_eq!(calls_for(&script, &mut talk, &bytes), expected, "{from:?}");
    }
}

#[test]
fn a_body_of_a_refused_line_begins_with_that_line() {
    let script = Script::<CR_LF>::new();
    script.then(|_| Next::Line).then(|_| Next::Body(18));
    let mut talk = Talk::<_, 16>::new(script.clone());
    assert_eq!(talk.exchange(b"0123456789abcdef!!?\r\nab\r\n"), b"");
    assert_eq!(
        script.calls(),
        [Call::Open, Call::TooLong, body(b"0123456789abcdef", 2), body(b"!!", 0), line(b"ab")],
        "and the rest of it is dropped"
    );
}

#[test]
fn bytes_that_are_skipped_follow() {
    for from in From::ALL {
        if matches!(from, From::Timer | From::End) {
            continue;
        }
        let (script, mut talk) = made(from, |_| Next::Skip(3));
        let bytes = [if from == From::TooLong { &b""[..] } else { b"\r\n." }, from.rest(), b"ab\r\n"].concat();
        assert_eq!(calls_for(&script, &mut talk, &bytes), [line(b"ab")], "{from:?}");
    }
}

#[test]
fn a_skip_of_nothing_is_a_line() {
    for from in From::ALL {
        if matches!(from, From::Timer | From::End) {
            continue;
        }
        let (script, mut talk) = made(from, |_| Next::Skip(0));
        let bytes = [from.rest(), b"ab\r\n"].concat();
        assert_eq!(calls_for(&script, &mut talk, &bytes), [line(b"ab")], "{from:?}");
    }
}

#[test]
fn the_same_call_follows_more() {
    for from in From::ALL {
        let (script, mut talk) = made(from, |reply| {
            reply.put(b"half").unwrap();
            Next::More
        });
        script.say(" whole", Next::Close);
        talk.assert_waits(Interest::Write, Action::Send, Waiting::ForRoom);
        assert_eq!(talk.connection.push(b"x", talk.now), Err(NoRoom), "{from:?}");
        assert_eq!(talk.take(3), b"hal");
        assert_eq!(script.calls(), [], "{from:?}: not before the output is empty");
        talk.expect(b"f whole");
        assert_eq!(script.calls()[0], from.call());
    }
}

#[test]
fn more_of_nothing_closes() {
    for from in From::ALL {
        let (_, mut talk) = made(from, |_| Next::More);
        match from {
            From::End => talk.assert_over(CloseReason::NoProgress),
            _ => talk.assert_closes_by_lingering(CloseReason::NoProgress),
        }
    }
}

#[test]
fn nothing_follows_later_until_the_answer_came() {
    for from in From::ALL {
        // A timer has no question.
        if from == From::Timer {
            continue;
        }
        let (script, mut talk) = made(from, |reply| Next::Later(reply.ticket(9)));
        talk.assert_waits(Interest::None, Action::Wait, Waiting::ForAnswer);
        talk.pass(9);
        script.say("expired", Next::Line);
        talk.connection.handle_timeout(talk.now);
        talk.expect(b"expired");
        assert_eq!(script.calls()[0], Call::Expired);
        if from == From::End {
            talk.assert_over(CloseReason::PeerEnd);
            continue;
        }
        let bytes = [from.rest(), b"ab\r\n"].concat();
        assert_eq!(calls_for(&script, &mut talk, &bytes), [line(b"ab")], "{from:?}");
    }
}

#[test]
fn later_without_a_ticket_of_this_call_closes() {
    for from in From::ALL {
        if from == From::Timer {
            continue;
        }
        let old = Ticket { token: crate::Token::default(), serial: 0, timeout_ms: 0 };
        let (_, mut talk) = match from {
            From::Completed | From::Expired => {
                made(from, |_| Next::Later(Ticket { token: crate::Token::default(), serial: 1, timeout_ms: 0 }))
            }
            _ => made(from, |_| Next::Later(Ticket { token: crate::Token::default(), serial: 0, timeout_ms: 0 })),
        };
        match from {
            From::End => talk.assert_over(CloseReason::NoProgress),
            _ => talk.assert_closes_by_lingering(CloseReason::NoProgress),
        }
        assert_eq!(talk.connection.complete(old, talk.now, |_| {}), Err(Late));
    }
}

#[test]
fn the_end_follows_close() {
    for from in From::ALL {
        let (script, mut talk) = made(from, |reply| {
            reply.put(b"bye").unwrap();
            Next::Close
        });
        talk.expect(b"bye");
        let reason = if from == From::End { CloseReason::PeerEnd } else { CloseReason::Protocol };
        match from {
            From::End => talk.assert_over(reason),
            _ => talk.assert_closes_by_lingering(reason),
        }
        assert_eq!(script.calls(), [Call::Closed(reason)], "{from:?}");
    }
}

#[test]
fn a_body_is_told_in_parts_as_it_arrives() {
    let script = Script::<CR_LF>::new();
    script.then(|_| Next::Line).then(|_| Next::Body(u64::MAX));
    let mut talk = Talk::<_, 16>::new(script.clone());
    talk.receive(b"go\r\nab");
    talk.receive(b"\r\n");
    talk.receive(&[b'x'; 16]);
    assert_eq!(
        script.calls()[2..],
        [body(b"ab", u64::MAX - 2), body(b"\r\n", u64::MAX - 4), body(&[b'x'; 16], u64::MAX - 20)]
    );
}

#[test]
fn a_body_of_nothing_is_told_once() {
    let script = Script::<CR_LF>::new();
    script.then(|_| Next::Line).then(|_| Next::Body(0));
    let mut talk = Talk::<_, 16>::new(script.clone());
    talk.receive(b"go\r\nab\r\n");
    assert_eq!(script.calls()[1..], [line(b"go"), body(b"", 0), line(b"ab")]);
}

#[test]
fn a_body_of_nothing_that_asks_for_nothing_again_closes() {
    let script = Script::<CR_LF>::new();
    script.then(|_| Next::Line).then(|_| Next::Body(0)).say("x", Next::Body(0));
    let mut talk = Talk::<_, 16>::new(script.clone());
    talk.receive(b"go\r\nab\r\n");
    talk.expect(b"x");
    talk.assert_closes_by_lingering(CloseReason::NoProgress);
}

#[test]
fn a_body_can_announce_another() {
    let script = Script::<CR_LF>::new();
    script.then(|_| Next::Line).then(|_| Next::Body(2)).then(|_| Next::Body(1)).then(|_| Next::Skip(1));
    let mut talk = Talk::<_, 16>::new(script.clone());
    talk.receive(b"go\r\n1234ab\r\n");
    assert_eq!(script.calls()[1..], [line(b"go"), body(b"12", 0), body(b"3", 0), line(b"ab")]);
}

#[test]
fn a_part_of_a_body_waits_for_the_room_of_its_reply() {
    let script = Script::<CR_LF>::new();
    script.then(|_| Next::Line).say("0123456789", Next::Body(2)).say("abcdefgh", Next::Line);
    let mut talk = Talk::<_, 16>::new(script.needs(8).clone());
    talk.receive(b"go\r\nxy");
    assert_eq!(script.calls(), [Call::Open, line(b"go")]);
    talk.expect(b"0123456789abcdefgh");
    assert_eq!(script.calls(), [body(b"xy", 0)]);
}

/// What the table does not allow is a mistake of the protocol's author: said in a debug build, harmless in others.
#[cfg(not(debug_assertions))]
#[test]
fn what_a_timer_or_an_end_may_not_announce_is_not_there() {
    for next in [Next::Body(2), Next::Skip(2)] {
        let (script, mut talk) = made(From::Timer, |_| Next::Body(2));
        assert_eq!(calls_for(&script, &mut talk, b"ab\r\n"), [line(b"ab")], "{next:?}");
    }
    for answer in [(|_| Next::Body(2)) as Answer, |_| Next::Skip(2)] {
        let (_, mut talk) = made(From::End, answer);
        talk.assert_over(CloseReason::PeerEnd);
    }
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "`timer` may not change what comes next")]
fn a_timer_that_announces_bytes_is_told_off() {
    made(From::Timer, |_| Next::Body(2));
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "nothing follows the peer's end")]
fn an_end_that_announces_bytes_is_told_off() {
    made(From::End, |_| Next::Body(2));
}
