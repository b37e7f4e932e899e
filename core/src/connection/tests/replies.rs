//! Rules 2, 3 and 6: replies are whole and in order, a peer that does not take them is waited for.

use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::script::{Call, Script, end, line};
use super::talk::{START, Talk, echo};
use super::*;

#[test]
fn the_longest_line_is_answered_in_full_whatever_its_number() {
    for counted in [0, 8, 9, 99, 999_998, 999_999, u64::MAX - 1] {
        let mut talk = Talk::<_, 4096>::new(NumberedEcho::counting_from(counted));
        talk.expect(b"ready\n");
        let text = [b'x'; 4095];
        let number = u128::from(counted) + 1;
        let got = talk.exchange(&[&text[..], b"\nb\n"].concat());
        let expected = [format!("{number}: ").as_bytes(), &text, b"\n"].concat();
        assert!(got.starts_with(&expected), "number {number}");
        assert_eq!(got.len() - expected.len(), format!("{}: b\n", number + 1).len());
    }
}

/// One whole buffer of lines, answered by 18,325 bytes.
fn two_thousand_lines() -> (Vec<u8>, Vec<u8>) {
    let sent = b"a\n".repeat(2048);
    let answers = (1..=2048).flat_map(|n| format!("{n}: a\n").into_bytes()).collect();
    (sent, answers)
}

#[test]
fn lines_that_are_buffered_go_on_when_output_drains_without_a_new_event() {
    let (sent, answers) = two_thousand_lines();
    for step in [1, 7, 1000, usize::MAX] {
        let mut talk = echo::<4096>();
        talk.receive(&sent);
        let mut got = Vec::new();
        while got.len() < answers.len() {
            talk.assert_waits(Interest::Write, Action::Send, Waiting::ForRoom);
            assert!(talk.connection.receive_space().is_empty());
            let taken = talk.take(step);
            assert!(!taken.is_empty(), "stalled at {} bytes", got.len());
            got.extend(taken);
        }
        assert!(got == answers, "in steps of {step}");
        talk.assert_reads();
        assert!(talk.connection.reclaim().is_some());
    }
}

#[test]
fn an_end_and_a_quit_that_wait_behind_replies_are_not_forgotten() {
    let (sent, answers) = two_thousand_lines();
    let mut talk = echo::<4096>();
    talk.receive(&sent);
    talk.end();
    assert!(talk.take_all() == answers);
    talk.assert_over(CloseReason::PeerEnd);

    let mut talk = echo::<4096>();
    talk.receive(&[&b"aaaaaa\n".repeat(584)[..], b"quit\nx\n"].concat());
    assert!(talk.take_all().ends_with(b"584: aaaaaa\nbye\n"));
    talk.assert_closes_by_lingering(CloseReason::Protocol);
}

#[test]
fn nothing_is_received_while_output_is_pending() {
    let mut talk = echo::<64>();
    talk.receive(b"a\n");
    assert!(talk.connection.receive_space().is_empty());
    talk.connection.received(2, talk.now);
    talk.expect(b"1: a\n");
    talk.assert_reads();
    assert_eq!(talk.exchange(b"b\n"), b"2: b\n", "what was received out of turn does not exist");
}

#[test]
fn a_reply_that_was_sent_in_part_leaves_whole() {
    let mut talk = echo::<4096>();
    talk.receive(b"hello\nworld\n");
    assert_eq!(talk.take(3), b"1: ");
    assert_eq!(talk.connection.transmit(), b"hello\n2: world\n");
    assert_eq!(talk.take(9), b"hello\n2: ");
    talk.expect(b"world\n");
}

#[test]
fn a_line_is_handed_over_when_the_room_it_needs_is_free() {
    let script = Script::<0>::new();
    let mut talk = Talk::<_, 8>::new(script.needs(3).clone());
    for text in ["abc", "def", "ghi", "jkl"] {
        script.say(text, Next::Line);
    }
    script.calls();
    // The greeting took the first answer.
    let mut talk_2 = Talk::<_, 8>::new(script.clone());
    assert_eq!(talk_2.take_all(), b"abc");
    talk_2.receive(b"a\nb\nc\n");
    assert_eq!(script.calls(), [Call::Open, line(b"a"), line(b"b")], "two free bytes are too few");
    assert_eq!(talk_2.take(5), b"defgh");
    assert_eq!(script.calls(), [], "sent bytes give their room back when all are sent");
    assert_eq!(talk_2.take(1), b"i");
    assert_eq!(script.calls(), [line(b"c")]);
    talk_2.expect(b"jkl");
    assert_eq!(talk.take_all(), b"");
}

#[test]
fn a_reply_that_needs_more_than_the_buffer_waits_for_an_empty_one() {
    let script = Script::<0>::new();
    script.then(|_| Next::Line).say("one", Next::Line);
    let mut talk = Talk::<_, 8>::new(script.clone());
    talk.receive(b"a\n");
    script.needs(9).say("eight by", Next::More).say("tes", Next::Line);
    assert_eq!(script.calls(), [Call::Open, line(b"a")]);
    talk.take_all();
    talk.receive(b"b\nc\n");
    assert_eq!(script.calls(), [line(b"b")]);
    assert_eq!(talk.take(7), b"eight b");
    assert_eq!(script.calls(), []);
    assert_eq!(talk.take(1), b"y");
    assert_eq!(script.calls(), [line(b"b")], "the same call again, and nothing behind it");
    assert_eq!(talk.take(3), b"tes");
    assert_eq!(script.calls(), [line(b"c")]);
}

#[test]
fn more_that_writes_nothing_closes_only_when_it_had_room() {
    let script = Script::<0>::new();
    script.then(|_| Next::Line).say("one", Next::Line);
    script.then(|_| Next::More).then(|_| Next::More);
    let mut talk = Talk::<_, 8>::new(script.clone());
    talk.receive(b"a\nb\n");
    assert_eq!(script.calls(), [Call::Open, line(b"a"), line(b"b")]);
    talk.assert_waits(Interest::Write, Action::Send, Waiting::ForRoom);
    talk.expect(b"one");
    assert_eq!(script.calls(), [line(b"b")], "it is asked once more, with the whole buffer");
    talk.assert_closes_by_lingering(CloseReason::NoProgress);
}

#[test]
fn the_tail_of_a_closed_connection_is_not_answered() {
    let script = Script::<0>::new();
    script.then(|_| Next::Line).say("no\n", Next::Close);
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"a\nb\nc");
    assert_eq!(script.calls(), [Call::Open, line(b"a")]);
    talk.expect(b"no\n");
    talk.assert_closes_by_lingering(CloseReason::Protocol);
    assert_eq!(script.calls(), [Call::Closed(CloseReason::Protocol)]);
}

#[test]
fn a_reply_to_the_end_is_as_long_as_it_likes() {
    let script = Script::<0>::new();
    script.then(|_| Next::Line).say("1234", Next::More).say("5678", Next::Close);
    let mut talk = Talk::<_, 4>::new(script.clone());
    talk.receive(b"t");
    talk.end();
    talk.expect(b"12345678");
    assert_eq!(script.calls(), [Call::Open, end(b"t"), end(b"t"), Call::Closed(CloseReason::PeerEnd)]);
    talk.assert_over(CloseReason::PeerEnd);
}

#[test]
fn put_is_all_or_nothing_and_put_some_is_what_fits() {
    let script = Script::<0>::new();
    script.then(|_| Next::Line).then(|reply| {
        assert_eq!(reply.room(), 4);
        assert_eq!(reply.put(b"12345"), Err(NoRoom));
        assert_eq!(reply.put(b"12"), Ok(()));
        assert_eq!(reply.put(b"345"), Err(NoRoom));
        assert_eq!(reply.space().len(), 2);
        assert_eq!(reply.put_some(b"345"), 2);
        assert_eq!((reply.put_some(b"6"), reply.room()), (0, 0));
        assert_eq!(reply.put(b""), Ok(()));
        Next::Line
    });
    let mut talk = Talk::<_, 4>::new(script);
    assert_eq!(talk.exchange(b"a\n"), b"1234");
    assert_eq!(NoRoom.to_string(), "no room in the output buffer");
}

#[test]
fn the_greeting_may_be_larger_than_the_buffer() {
    let mut talk = Talk::<_, 4>::new(NumberedEcho::new());
    talk.assert_waits(Interest::Write, Action::Send, Waiting::ForRoom);
    assert_eq!(talk.connection.transmit(), b"read");
    talk.take(4);
    assert_eq!(talk.connection.transmit(), b"y\n");
    talk.take(2);
    talk.assert_reads();
    assert_eq!(talk.now, START);
}
