//! A protocol that a test writes while it runs, and that keeps what it was told.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec::Vec;

use super::*;

/// One call of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Open,
    Line(Vec<u8>),
    Body(Vec<u8>, u64),
    TooLong,
    BareNewline,
    Completed,
    Expired,
    Timer,
    Missed(u32),
    End(Vec<u8>),
    Closed(CloseReason),
}

pub fn line(bytes: &[u8]) -> Call {
    Call::Line(bytes.to_vec())
}

pub fn body(bytes: &[u8], left: u64) -> Call {
    Call::Body(bytes.to_vec(), left)
}

pub fn end(tail: &[u8]) -> Call {
    Call::End(tail.to_vec())
}

/// Where the lines of a [`Script`] end, as the type parameter that a constant of a trait needs.
pub const NEWLINE: u8 = 0;
pub const CR_LF: u8 = 1;
pub const SEMICOLON: u8 = 2;

type Answer = Box<dyn FnOnce(&mut Reply<'_>) -> Next>;

#[derive(Default)]
struct Told {
    calls: Vec<Call>,
    answers: VecDeque<Answer>,
    room: usize,
}

/// Gives the answers that it was given, in order; without one it says nothing and does what the trait does.
///
/// A clone is the same script, so that the test keeps hold of what the connection owns.
#[derive(Clone, Default)]
pub struct Script<const END: u8 = NEWLINE>(Rc<RefCell<Told>>);

impl<const END: u8> Script<END> {
    pub fn new() -> Self {
        Self::default()
    }

    /// The next call that has no answer yet gets this one.
    pub fn then(&self, answer: impl FnOnce(&mut Reply<'_>) -> Next + 'static) -> &Self {
        self.0.borrow_mut().answers.push_back(Box::new(answer));
        self
    }

    /// The next call without an answer says this and goes on so.
    pub fn say(&self, text: &'static str, next: Next) -> &Self {
        self.then(move |reply| {
            reply.put(text.as_bytes()).unwrap();
            next
        })
    }

    /// The next call without an answer asks for an answer from elsewhere.
    pub fn later(&self, timeout_ms: u32) -> Rc<RefCell<Option<Ticket>>> {
        let made = Rc::new(RefCell::new(None));
        let keep = made.clone();
        self.then(move |reply| {
            let ticket = reply.ticket(timeout_ms);
            *keep.borrow_mut() = Some(ticket);
            Next::Later(ticket)
        });
        made
    }

    /// What `room` says from now on.
    pub fn needs(&self, room: usize) -> &Self {
        self.0.borrow_mut().room = room;
        self
    }

    /// The calls since the last time that this was asked.
    pub fn calls(&self) -> Vec<Call> {
        core::mem::take(&mut self.0.borrow_mut().calls)
    }

    fn answer(&self, call: Call, reply: &mut Reply<'_>, otherwise: Next) -> Next {
        let answer = {
            let told = &mut *self.0.borrow_mut();
            told.calls.push(call);
            told.answers.pop_front()
        };
        answer.map_or(otherwise, |answer| answer(reply))
    }
}

impl<const END: u8> Protocol for Script<END> {
    const LINE_END: LineEnd = match END {
        NEWLINE => LineEnd::Newline,
        CR_LF => LineEnd::CrLf,
        _ => LineEnd::Byte(b';'),
    };

    fn room(&self, _len: usize) -> usize {
        self.0.borrow().room
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(Call::Open, reply, Next::Line)
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        self.answer(Call::Line(line.to_vec()), reply, Next::Line)
    }

    fn body(&mut self, part: &[u8], left: u64, reply: &mut Reply<'_>) -> Next {
        let otherwise = if left == 0 { Next::Line } else { Next::Body(left) };
        self.answer(Call::Body(part.to_vec(), left), reply, otherwise)
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(Call::TooLong, reply, Next::Close)
    }

    fn bare_newline(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(Call::BareNewline, reply, Next::Close)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(Call::Completed, reply, Next::Line)
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(Call::Expired, reply, Next::Close)
    }

    fn timer(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answer(Call::Timer, reply, Next::Line)
    }

    fn missed(&mut self, pushes: u32, reply: &mut Reply<'_>) -> Next {
        self.answer(Call::Missed(pushes), reply, Next::Line)
    }

    fn end(&mut self, tail: &[u8], reply: &mut Reply<'_>) -> Next {
        self.answer(Call::End(tail.to_vec()), reply, Next::Close)
    }

    fn closed(&mut self, reason: CloseReason) {
        self.0.borrow_mut().calls.push(Call::Closed(reason));
    }
}
