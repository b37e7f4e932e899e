//! Rule 1: what is a line, and that cuts do not matter.

use std::vec::Vec;
use std::{format, vec};

use super::script::{CR_LF, Call, SEMICOLON, Script, end, line};
use super::talk::{Talk, echo, show};
use super::*;

/// The ways in which a peer's bytes can reach the connection.
fn cuts(bytes: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut ways: Vec<Vec<&[u8]>> = vec![vec![bytes], bytes.chunks(64).collect(), bytes.chunks(1).collect()];
    if let Some((last, before)) = bytes.split_last() {
        ways.push(vec![before, core::slice::from_ref(last)]);
    }
    ways
}

#[track_caller]
fn assert_answer(counted: u64, sent: &[u8], expected: &[u8]) {
    for pieces in cuts(sent) {
        let mut talk = Talk::<_, 4096>::new(NumberedEcho::counting_from(counted));
        let mut got = talk.exchange(b"");
        for piece in &pieces {
            got.append(&mut talk.exchange(piece));
        }
        let expected = [b"ready\n", expected].concat();
        assert!(got == expected, "in {} pieces: {} instead of {}", pieces.len(), show(&got), show(&expected));
    }
}

#[test]
fn a_line_has_up_to_4095_bytes_however_it_is_cut() {
    for counted in [0, 8, 9, 98, 999_998, 999_999, u64::MAX - 1] {
        let number = u128::from(counted) + 1;
        for length in 4092..=4095 {
            let text = vec![b'x'; length];
            let expected = [format!("{number}: ").as_bytes(), &text, b"\n"].concat();
            assert_answer(counted, &[&text[..], b"\n"].concat(), &expected);
        }
    }
}

#[test]
fn a_longer_line_is_refused_however_it_is_cut() {
    for length in [4096, 4097] {
        assert_answer(0, &[&vec![b'x'; length][..], b"\n"].concat(), b"line too long\n");
    }
}

#[test]
fn the_byte_that_is_one_too_many_is_refused_without_waiting_for_more() {
    let mut talk = echo::<4096>();
    talk.receive(&[b'x'; 4095]);
    talk.assert_reads();
    assert_eq!(talk.connection.receive_space().len(), 1);
    talk.receive(b"x");
    assert_eq!(talk.connection.transmit(), b"line too long\n");
}

#[test]
fn the_carriage_return_counts() {
    let text = [b'x'; 4095];
    assert_answer(0, &[&text[1..], b"\r\n"].concat(), &[b"1: ", &text[1..], b"\n"].concat());
    assert_answer(0, &[&text[..], b"\r\n"].concat(), b"line too long\n");
}

#[test]
fn a_short_line_before_it_changes_nothing() {
    let text = [b'x'; 4096];
    let longest = [b"a\n", &text[1..], b"\n"].concat();
    assert_answer(0, &longest, &[b"1: a\n2: ", &text[1..], b"\n"].concat());
    assert_answer(0, &[b"a\n", &text[..]].concat(), b"1: a\nline too long\n");
    let ten = [&text[1..], b"\n"].concat().repeat(10);
    let expected: Vec<u8> =
        (1..=10).flat_map(|n| [format!("{n}: ").as_bytes(), &text[1..], b"\n"].concat()).collect();
    assert_answer(0, &ten, &expected);
}

#[test]
fn one_carriage_return_before_the_newline_is_not_part_of_the_line() {
    for (sent, expected) in [
        (&b"a\r\n"[..], &b"1: a\n"[..]),
        (b"\r\n", b"1: \n"),
        (b"\n", b"1: \n"),
        (b"\r\r\n", b"1: \r\n"),
        (b"a\rb\n", b"1: a\rb\n"),
        (b"\ra\n", b"1: \ra\n"),
        (b"quit\r\n", b"bye\n"),
        (b"quit\r\r\n", b"1: quit\r\n"),
        (b"quit \n", b"1: quit \n"),
        (b" quit\n", b"1:  quit\n"),
        (b"QUIT\n", b"1: QUIT\n"),
    ] {
        assert_answer(0, sent, expected);
    }
}

#[test]
fn time_between_a_carriage_return_and_its_newline_changes_nothing() {
    let mut talk = echo::<4096>();
    talk.receive(b"one\r");
    talk.pass(3_000).receive(b"\ntwo\n");
    talk.expect(b"1: one\n2: two\n");
}

#[test]
fn every_other_byte_is_data() {
    let all: Vec<u8> = (0..=255).filter(|&byte| byte != b'\n').chain([b'.']).collect();
    assert_answer(0, &[&all[..], b"\n"].concat(), &[b"1: ", &all[..], b"\n"].concat());
    for byte in (0..=255).filter(|&byte| byte != b'\n' && byte != b'\r') {
        assert_answer(0, &[byte, b'\n'], &[b"1: ", &[byte][..], b"\n"].concat());
    }
}

#[test]
fn a_nul_hides_no_newline() {
    assert_answer(0, b"a\0b\n\0\n", b"1: a\0b\n2: \0\n");
    let nuls = [0; 4096];
    assert_answer(0, &[&nuls[1..], b"\n"].concat(), &[b"1: ", &nuls[1..], b"\n"].concat());
    assert_answer(0, &nuls, b"line too long\n");
}

#[test]
fn an_unterminated_tail_is_told_once_and_is_no_line() {
    let script = Script::<0>::new();
    let mut talk = Talk::<_, 4096>::new(script.clone());
    talk.receive(b"a\nb\ntail\r");
    talk.end();
    assert_eq!(
        script.calls(),
        [Call::Open, line(b"a"), line(b"b"), end(b"tail\r"), Call::Closed(CloseReason::PeerEnd)]
    );
    talk.end();
    assert_eq!(script.calls(), []);
    talk.assert_over(CloseReason::PeerEnd);
}

#[test]
fn cr_lf_that_is_strict_takes_nothing_else_for_an_end() {
    let script = Script::<CR_LF>::new();
    let mut talk = Talk::<_, 64>::new(script.clone());
    talk.receive(b"a\r\nb\rc\r\n\r\r\n\r\n");
    assert_eq!(script.calls(), [Call::Open, line(b"a"), line(b"b\rc"), line(b"\r"), line(b"")]);
    script.say("no\n", Next::Line);
    assert_eq!(talk.exchange(b"bad\nworse\nbad\r"), b"no\n");
    talk.receive(b"\ngood\r\n");
    assert_eq!(script.calls(), [Call::BareNewline, line(b"good")]);
    talk.receive(b"\n");
    assert_eq!(script.calls(), [Call::BareNewline], "closes unless the protocol says otherwise");
    talk.assert_closes_by_lingering(CloseReason::Protocol);
}

#[test]
fn cr_lf_cut_in_two_ends_a_refused_line_too() {
    for cut in 1..10 {
        let script = Script::<CR_LF>::new();
        script.then(|_| Next::Line).say("long", Next::Line);
        let mut talk = Talk::<_, 4>::new(script.clone());
        let bytes = b"aaaa\rb\nc\r\nd\r\n";
        talk.exchange(&bytes[..cut]);
        talk.exchange(&bytes[cut..]);
        assert_eq!(script.calls(), [Call::Open, Call::TooLong, line(b"d")], "cut at {cut}");
    }
}

#[test]
fn another_byte_can_end_lines() {
    let script = Script::<SEMICOLON>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    assert_eq!(talk.exchange(b"a\n;b\r;;tail"), b"");
    talk.end();
    assert_eq!(script.calls()[1..5], [line(b"a\n"), line(b"b\r"), line(b""), end(b"tail")]);
}

#[test]
fn a_refused_line_is_told_once_and_its_rest_is_dropped() {
    let script = Script::<0>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    script.say("no", Next::Line);
    assert_eq!(talk.exchange(b"123456781234567812345\r678\nnext\n"), b"no");
    assert_eq!(script.calls(), [Call::Open, Call::TooLong, line(b"next")]);
    script.say("no", Next::Line);
    assert_eq!(talk.exchange(b"12345678"), b"no");
    assert_eq!(talk.exchange(b"\nnext\n"), b"", "the newline right behind the limit ends the refused line");
    assert_eq!(script.calls(), [Call::TooLong, line(b"next")]);
}

#[test]
fn the_rest_of_a_refused_line_is_no_tail() {
    let script = Script::<0>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    script.say("no", Next::Line);
    talk.exchange(b"1234567812");
    talk.end();
    assert_eq!(script.calls()[2..], [end(b""), Call::Closed(CloseReason::PeerEnd)]);
    let script = Script::<CR_LF>::new();
    let mut talk = Talk::<_, 8>::new(script.clone());
    script.say("no", Next::Line);
    talk.exchange(b"1234567812\r");
    talk.end();
    assert_eq!(script.calls()[2..], [end(b""), Call::Closed(CloseReason::PeerEnd)], "nor is half of its end");
}
