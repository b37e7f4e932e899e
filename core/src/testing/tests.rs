//! The check of the check: what it must find, it finds.

use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::protocol::Next;
use crate::reply::Reply;
use crate::token::Ticket;
use crate::{NumberedEcho, Time};

const TALK: Conversation<'_> =
    Conversation::new(b"one\r\n\ntwo\nquit\nthree\n", b"ready\n1: one\n2: \n3: two\nbye\n");

#[test]
fn the_echo_is_the_same_in_every_way_and_with_small_buffers() {
    assert_eq!(TALK.random_cuts(10).check(NumberedEcho::new), Ok(1 + 20 + 1 + 28 + 10));
    // With room for eight bytes replies leave in pieces: eight sizes of writes.
    assert_eq!(TALK.check_deferred::<_, 8>(NumberedEcho::new, |_| {}), Ok(1 + 20 + 1 + 8));
}

/// Answers a line correctly, unless the fault that a test wants is due.
struct Faulty {
    fault: Fault,
    /// Bytes of a body that came in the last call.
    last_part: usize,
    done: bool,
}

#[derive(Clone, Copy)]
enum Fault {
    /// Takes the parts of a body for bodies.
    AnswersEachPart,
    /// Forgets how far it was when a reply leaves in pieces.
    RepeatsPieces,
    /// Closes one way or another.
    ClosesByPart,
    /// Waits for nobody.
    NeverAnswers,
}

impl Protocol for Faulty {
    fn room(&self, _: usize) -> usize {
        1
    }

    fn line(&mut self, _: &[u8], reply: &mut Reply<'_>) -> Next {
        match self.fault {
            Fault::AnswersEachPart | Fault::ClosesByPart => Next::Body(4),
            Fault::RepeatsPieces => {
                let wrote = reply.put_some(b"123456789");
                if wrote < 9 && !self.done {
                    self.done = true;
                    Next::More
                } else {
                    Next::Close
                }
            }
            Fault::NeverAnswers => Next::Later(reply.ticket(0)),
        }
    }

    fn body(&mut self, part: &[u8], left: u64, reply: &mut Reply<'_>) -> Next {
        let first = self.last_part == 0;
        self.last_part = part.len();
        match (self.fault, left) {
            (Fault::AnswersEachPart, 0) => reply.put(b".").map_or(Next::Close, |()| Next::Line),
            (Fault::AnswersEachPart, _) => reply.put(b".").map_or(Next::Close, |()| Next::Body(left)),
            (_, 0) if first => Next::Close,
            (_, 0) => Next::Line,
            _ => Next::Body(left),
        }
    }
}

fn faulty(fault: Fault) -> impl FnMut() -> Faulty {
    move || Faulty { fault, last_part: 0, done: false }
}

#[test]
fn an_answer_to_each_part_is_found() {
    let talk = Conversation::new(b"\nbody", b".");
    let found = talk.check(faulty(Fault::AnswersEachPart)).unwrap_err();
    let way = Way { cuts: Cuts::At(2), write: usize::MAX };
    assert_eq!(found, Difference { way, at: 1, what: What::More(b'.') });
    assert_eq!(
        found.to_string(),
        "cut behind byte 2, written whole: the output should end behind byte 1 and goes on with '.'"
    );
}

#[test]
fn a_close_that_depends_on_the_cut_is_found() {
    let found = Conversation::new(b"\nbody", b"").check(faulty(Fault::ClosesByPart)).unwrap_err();
    let what = What::Reason { expected: CloseReason::Protocol, got: CloseReason::PeerEnd };
    assert_eq!(found, Difference { way: Way { cuts: Cuts::At(2), write: usize::MAX }, at: 0, what });
}

#[test]
fn a_piece_that_comes_twice_is_found() {
    let talk = Conversation::new(b"\n", b"123456789");
    assert_eq!(talk.check(faulty(Fault::RepeatsPieces)), Ok(1 + 1 + 9), "it fits: one piece");
    let found = talk.check_deferred::<_, 4>(faulty(Fault::RepeatsPieces), |_| {}).unwrap_err();
    assert_eq!((found.at, found.what), (4, What::Byte { expected: b'5', got: b'1' }));
}

#[test]
fn each_way_is_tried_once_and_is_what_a_difference_names() {
    let talk = Conversation::new(b"\n\n", b"123456789").random_cuts(2);
    let ways = (0..).map_while(|faulty_run| {
        let mut run = 0..;
        let made = || {
            let fault = if run.next() == Some(faulty_run) { Fault::NeverAnswers } else { Fault::RepeatsPieces };
            Faulty { fault, last_part: 0, done: false }
        };
        talk.check(made).err().map(|found| found.way)
    });
    let whole = Way { cuts: Cuts::Whole, write: usize::MAX };
    let mut expected: Vec<Way> =
        [Cuts::Whole, Cuts::At(1), Cuts::Every(1)].map(|cuts| Way { cuts, ..whole }).into();
    expected.extend((1..=9).map(|write| Way { write, ..whole }));
    expected.extend([Cuts::Random(0), Cuts::Random(1)].map(|cuts| Way { cuts, ..whole }));
    assert_eq!(ways.collect::<Vec<_>>(), expected);
}

#[test]
fn an_output_that_ends_early_is_found() {
    let found = Conversation::new(b"quit\n", b"ready\nbye\n\xff").check(NumberedEcho::new).unwrap_err();
    assert_eq!((found.at, found.what), (10, What::Less(CloseReason::Protocol)));
}

#[test]
fn an_answer_that_nobody_gives_is_found() {
    let found = Conversation::new(b"\n", b"").check(faulty(Fault::NeverAnswers)).unwrap_err();
    assert_eq!(found.what, What::Unanswered);
}

/// Sends back each line, as an answer that comes later.
struct Deferred(Vec<u8>, Option<Ticket>);

impl Protocol for Deferred {
    fn room(&self, _: usize) -> usize {
        0
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        self.0 = line.to_vec();
        let ticket = reply.ticket(1_000);
        self.1 = Some(ticket);
        Next::Later(ticket)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        reply.put(&self.0).map_or(Next::Close, |()| Next::Line)
    }
}

#[test]
fn answers_that_come_later_are_given_by_the_test() {
    let talk = Conversation::new(b"a\nbc\nd\n", b"A!BC!D!");
    let runs = talk.random_cuts(50).check_deferred::<_, 16>(
        || Deferred(Vec::new(), None),
        |connection| {
            let ticket = connection.protocol().unwrap().1.unwrap();
            let shout = |protocol: &mut Deferred| {
                protocol.0.make_ascii_uppercase();
                protocol.0.push(b'!');
            };
            connection.complete(ticket, Time::from_ms(0), shout).unwrap();
        },
    );
    assert_eq!(runs, Ok(1 + 6 + 1 + 7 + 50));
}

/// Asks for a second answer when it has the first.
struct AsksTwice(Option<Ticket>, u32);

impl AsksTwice {
    fn ask(&mut self, reply: &mut Reply<'_>) -> Next {
        let ticket = reply.ticket(0);
        self.0 = Some(ticket);
        Next::Later(ticket)
    }
}

impl Protocol for AsksTwice {
    fn room(&self, _: usize) -> usize {
        0
    }

    fn line(&mut self, _: &[u8], reply: &mut Reply<'_>) -> Next {
        self.ask(reply)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        self.1 += 1;
        match self.1 {
            1 => self.ask(reply),
            _ => reply.put(b"twice").map_or(Next::Line, |()| Next::Close),
        }
    }
}

#[test]
fn an_answer_that_leads_to_another_question_is_no_lack_of_an_answer() {
    let runs = Conversation::new(b"\n", b"twice").check_deferred::<_, 8>(
        || AsksTwice(None, 0),
        |connection| {
            let ticket = connection.protocol().unwrap().0.unwrap();
            connection.complete(ticket, Time::from_ms(0), |_| {}).unwrap();
        },
    );
    assert_eq!(runs, Ok(1 + 1 + 5));
}

#[test]
fn pieces_and_writes_have_the_sizes_that_a_way_says() {
    let sizes = |cuts, write| way::Sizes::new(Way { cuts, write });
    let mut in_two = sizes(Cuts::At(5), 3);
    assert_eq!([0, 3, 5, 6].map(|received| in_two.receive(received)), [5, 2, usize::MAX, usize::MAX]);
    assert_eq!([in_two.send(), in_two.send()], [3, 3]);
    let mut least = sizes(Cuts::Every(0), 0);
    assert_eq!((least.receive(7), least.send()), (1, 1), "or nothing would ever move");
}

#[test]
fn random_cuts_differ_from_each_other_and_are_the_same_each_time() {
    let sizes = |number| {
        let mut sizes = way::Sizes::new(Way { cuts: Cuts::Random(number), write: usize::MAX });
        (0..50).map(|_| sizes.receive(0)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(0), sizes(0));
    assert_eq!(
        sizes(7)[..12],
        [229, 51, 43, 409, 28, 15, 9, 2, 2, 1, 2, 432],
        "a number that somebody noted replays what it did"
    );
    assert!((0..20).all(|number| sizes(number) != sizes(number + 1)));
    let many: Vec<usize> = (0..100).flat_map(sizes).collect();
    assert!(many.iter().all(|size| (1..=8192).contains(size)));
    assert!(many.iter().filter(|&&size| size == 1).count() > 300, "small pieces are what finds faults");
}

#[test]
fn ways_and_differences_are_said_in_words() {
    let way = |cuts, write| Way { cuts, write };
    let whole = way(Cuts::Whole, usize::MAX);
    for (said, way) in [
        ("all in one piece, written whole", whole),
        ("cut behind byte 3, written 5 bytes at a time", way(Cuts::At(3), 5)),
        ("byte by byte, written whole", way(Cuts::Every(1), usize::MAX)),
        ("in pieces of 2 bytes, written whole", way(Cuts::Every(2), usize::MAX)),
        ("at random, number 7", way(Cuts::Random(7), usize::MAX)),
    ] {
        assert_eq!(way.to_string(), said);
    }
    let (expected, got) = (CloseReason::Protocol, CloseReason::PeerEnd);
    for (said, what) in [
        ("byte 5 of the output should be 'a' and is '\\n'", What::Byte { expected: b'a', got: b'\n' }),
        ("the output should end behind byte 4 and goes on with 'b'", What::More(b'b')),
        ("the output ends behind byte 4: the connection was closed (PeerEnd)", What::Less(got)),
        (
            "the connection was closed for another reason (PeerEnd) than when nothing is cut (Protocol)",
            What::Reason { expected, got },
        ),
        ("behind byte 4 of the output nobody gives the answer that is waited for", What::Unanswered),
    ] {
        let difference = Difference { way: whole, at: 4, what };
        assert_eq!(difference.to_string(), format!("all in one piece, written whole: {said}"));
    }
}
