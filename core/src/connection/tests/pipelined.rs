//! What a protocol can know of bytes that it did not get yet.

use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

use super::script::{NEWLINE, Script};
use super::talk::Talk;
use super::*;

/// Notes for each of the next calls whether there was unread input, and goes on with what it was given.
fn noting(script: &Script, answers: &[Next]) -> Rc<RefCell<Vec<bool>>> {
    let noted = Rc::new(RefCell::new(Vec::new()));
    for &next in answers {
        let note = noted.clone();
        script.then(move |reply| {
            note.borrow_mut().push(reply.has_unread_input());
            next
        });
    }
    noted
}

#[test]
fn a_line_knows_whether_more_was_sent_without_waiting() {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 64>::new(script.clone());
    let noted = noting(&script, &[Next::Line; 6]);
    talk.receive(b"a\n");
    talk.receive(b"b\nc\n");
    talk.receive(b"d\nhalf");
    talk.receive(b" a line\n");
    talk.receive(b"\r\n");
    assert_eq!(*noted.borrow(), [false, true, false, true, false, false]);
}

#[test]
fn so_does_a_body_and_what_is_told_in_between() {
    let script = Script::<NEWLINE>::new();
    let mut talk = Talk::<_, 16>::new(script.clone());
    let noted = noting(&script, &[Next::Body(4), Next::Body(2), Next::Line, Next::Line]);
    talk.receive(b"a\n12");
    talk.receive(b"34b\n");
    assert_eq!(*noted.borrow(), [true, false, true, false]);

    let noted = noting(&script, &[Next::Line, Next::Close]);
    talk.receive(&[b'x'; 16]);
    talk.receive(b"\ntail");
    talk.end();
    assert_eq!(*noted.borrow(), [true, false], "too long a line is not over; a tail is handed over");
}
