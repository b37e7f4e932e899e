//! Calls in any order with any arguments, with every end of lines and over buffers of several sizes: no panic, and what
//! must always hold does.

#![no_main]

use arbitrary::Arbitrary;
use evserver_core::{
    Action, Buffers, CloseReason, Connection, Interest, Limits, LineEnd, Next, Protocol, Reply, Ticket, Time, Token,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Operation {
    Lend,
    Reclaim,
    Receive(u16, u8),
    ReceiveEnd,
    Transmit(u16),
    WriteShut,
    Failed,
    Panicked,
    Abandon,
    Drain,
    Drained,
    Push(Vec<u8>),
    Complete,
    Timeout,
    Advance(u16),
    Restamp(u16),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Answer {
    Line,
    Body(u64),
    Skip(u64),
    More,
    Later(u16),
    StaleLater,
    Close,
}

/// Answers whatever comes next in a list, and writes so many bytes. `END` says where its lines end.
struct Scripted<const END: u8, const N: usize> {
    answers: Vec<(Answer, u8)>,
    at: usize,
    ticket: Option<Ticket>,
    closed: u32,
}

impl<const END: u8, const N: usize> Scripted<END, N> {
    fn say(&mut self, reply: &mut Reply<'_>) -> Next {
        assert_eq!(self.closed, 0, "a call after the end");
        let (answer, bytes) = self.answers.get(self.at).copied().unwrap_or((Answer::Close, 0));
        self.at += 1;
        let _ = reply.put_some(&[b'x'; 255][..usize::from(bytes)]);
        match answer {
            Answer::Line => Next::Line,
            Answer::Body(left) => Next::Body(left),
            Answer::Skip(left) => Next::Skip(left),
            Answer::More => Next::More,
            Answer::Later(timeout) => {
                if timeout & 1 == 1 {
                    reply.set_timer(u32::from(timeout));
                }
                let ticket = reply.ticket(u32::from(timeout));
                self.ticket = Some(ticket);
                Next::Later(ticket)
            }
            Answer::StaleLater => self.ticket.map_or(Next::Close, Next::Later),
            Answer::Close => Next::Close,
        }
    }

    /// Where only some answers are allowed; the others are a mistake that a debug assertion catches.
    fn say_only(&mut self, reply: &mut Reply<'_>) -> Next {
        match self.say(reply) {
            next @ (Next::Line | Next::More | Next::Close) => next,
            Next::Body(_) | Next::Skip(_) | Next::Later(_) => Next::Line,
        }
    }
}

impl<const END: u8, const N: usize> Protocol for Scripted<END, N> {
    const LINE_END: LineEnd = match END {
        NEWLINE => LineEnd::Newline,
        CR_LF => LineEnd::CrLf,
        byte => LineEnd::Byte(byte),
    };

    fn room(&self, len: usize) -> usize {
        len * 2
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(reply)
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        let last = if END == CR_LF { NEWLINE } else { END };
        assert!(!line.contains(&last) && line.len() < N);
        self.say(reply)
    }

    fn body(&mut self, part: &[u8], _: u64, reply: &mut Reply<'_>) -> Next {
        assert!(part.len() <= N);
        self.say(reply)
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(reply)
    }

    fn bare_newline(&mut self, reply: &mut Reply<'_>) -> Next {
        assert_eq!(END, CR_LF);
        self.say(reply)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(reply)
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say(reply)
    }

    fn timer(&mut self, reply: &mut Reply<'_>) -> Next {
        self.say_only(reply)
    }

    fn missed(&mut self, _: u32, reply: &mut Reply<'_>) -> Next {
        self.say_only(reply)
    }

    fn end(&mut self, _: &[u8], reply: &mut Reply<'_>) -> Next {
        self.say_only(reply)
    }

    fn closed(&mut self, _: CloseReason) {
        self.closed += 1;
        assert_eq!(self.closed, 1, "told of the end twice");
    }
}

const NEWLINE: u8 = b'\n';
/// No byte ends the lines of this one, but two.
const CR_LF: u8 = b'\r';
const NUL: u8 = 0;

#[derive(Arbitrary, Debug)]
enum Kind {
    Newline,
    Small,
    CrLf,
    Nul,
    Refused,
}

#[derive(Arbitrary, Debug)]
struct Program {
    kind: Kind,
    idle_ms: u16,
    line_ms: u16,
    answers: Vec<(Answer, u8)>,
    operations: Vec<Operation>,
}

fuzz_target!(|program: Program| {
    match program.kind {
        Kind::Newline => run::<NEWLINE, 16>(program, false),
        Kind::Small => run::<NEWLINE, 4>(program, false),
        Kind::CrLf => run::<CR_LF, 16>(program, false),
        Kind::Nul => run::<NUL, 16>(program, false),
        Kind::Refused => run::<NEWLINE, 16>(program, true),
    }
});

fn run<const END: u8, const N: usize>(program: Program, refused: bool) {
    let Program { idle_ms, line_ms, answers, operations, .. } = program;
    let mut now = Time::from_ms(1_000_000);
    let limits = Limits { idle_ms: idle_ms.into(), line_ms: line_ms.into(), ..Limits::new() };
    let mut connection: Connection<_, Box<Buffers<N>>, N> = if refused {
        Connection::refuse(b"this server is full\n", &limits, now)
    } else {
        Connection::new(Scripted::<END, N> { answers, at: 0, ticket: None, closed: 0 }, &limits, now)
    };
    connection.set_token(Token::from_bits(7));
    for operation in operations {
        match operation {
            Operation::Lend => connection.lend(Box::default(), now),
            Operation::Reclaim => {
                if let Some(buffers) = connection.reclaim() {
                    assert!(buffers.is_empty());
                }
            }
            Operation::Receive(n, byte) => {
                let space = connection.receive_space();
                for (place, byte) in space.iter_mut().zip([byte, b'\n', b'a', b'\r', b'\n', 0].into_iter().cycle())
                {
                    *place = byte;
                }
                connection.received(n.into(), now);
            }
            Operation::ReceiveEnd => connection.received_end(now),
            Operation::Transmit(n) => connection.transmitted(n.into(), now),
            Operation::WriteShut => connection.write_shut(now),
            Operation::Failed => connection.failed(),
            Operation::Panicked => connection.panicked(),
            Operation::Abandon => connection.abandon(CloseReason::DrainTimeout),
            Operation::Drain => connection.drain(),
            Operation::Drained => connection.drained(now),
            Operation::Push(bytes) => drop(connection.push(&bytes, now)),
            Operation::Complete => {
                if let Some(ticket) = connection.protocol().and_then(|protocol| protocol.ticket) {
                    let _ = connection.complete(ticket, now, |_| {});
                }
            }
            Operation::Timeout => {
                connection.handle_timeout(now);
                assert!(connection.deadline().is_none_or(|deadline| deadline > now), "due after it was acted on");
            }
            Operation::Advance(ms) => now = now.after(ms.into()),
            Operation::Restamp(ms) => connection.restamp(now, now.after(ms.into())),
        }
        let wants = connection.wants();
        match wants.interest {
            Interest::Read => assert!(connection.transmit().is_empty()),
            Interest::Write => assert!(!connection.transmit().is_empty()),
            Interest::None => assert!(wants.action != Action::Receive && wants.action != Action::Send),
        }
        if wants.action == Action::Receive {
            assert!(!connection.receive_space().is_empty());
        }
        if let Action::Close(_) = wants.action {
            assert!(connection.transmit().is_empty() && connection.deadline().is_none());
        }
    }
}
