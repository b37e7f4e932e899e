//! A protocol that has only lines does the usual with everything else.

use evserver_core::{Action, Buffers, Connection, Limits, LineEnd, Next, NoRoom, Protocol, Reply, Ticket, Time};

const NOW: Time = Time::from_ms(1_000);

/// Says `=` to a line; to a `?` what the test wants.
struct Quiet<const STRICT: bool> {
    next: fn(&mut Reply<'_>) -> Next,
    ticket: Option<Ticket>,
}

impl<const STRICT: bool> Protocol for Quiet<STRICT> {
    const LINE_END: LineEnd = if STRICT { LineEnd::CrLf } else { LineEnd::Newline };

    fn room(&self, len: usize) -> usize {
        len
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        if line != b"?" {
            reply.put(b"=").expect("an empty output");
            return Next::Line;
        }
        let next = (self.next)(reply);
        if let Next::Later(ticket) = next {
            self.ticket = Some(ticket);
        }
        next
    }
}

type Talk<const STRICT: bool> = Connection<Quiet<STRICT>, Box<Buffers<8>>, 8>;

fn talk<const STRICT: bool>(next: fn(&mut Reply<'_>) -> Next) -> Talk<STRICT> {
    let mut connection = Connection::new(Quiet { next, ticket: None }, &Limits::new(), NOW);
    connection.lend(Box::default(), NOW);
    connection
}

/// Gives all of the input for as long as it is taken: what was said to it, and what is to be done next.
fn exchange<const STRICT: bool>(connection: &mut Talk<STRICT>, mut input: &[u8]) -> (String, Action) {
    let mut output = String::new();
    loop {
        match connection.action() {
            Action::Send => {
                output.push_str(&String::from_utf8_lossy(connection.transmit()));
                connection.transmitted(usize::MAX, NOW);
            }
            Action::Receive if !input.is_empty() => {
                let space = connection.receive_space();
                let n = space.len().min(input.len());
                space[..n].copy_from_slice(&input[..n]);
                input = &input[n..];
                connection.received(n, NOW);
            }
            action => return (output, action),
        }
    }
}

#[test]
fn a_body_that_nobody_takes_is_dropped_in_parts_and_whole() {
    assert_eq!(
        exchange(&mut talk::<false>(|_| Next::Body(13)), b"?\n123456789012\na\n"),
        ("=".into(), Action::Receive)
    );
    assert_eq!(exchange(&mut talk::<false>(|_| Next::Body(2)), b"?\na\na\n"), ("=".into(), Action::Receive));
    assert_eq!(exchange(&mut talk::<false>(|_| Next::Body(0)), b"?\na\n"), ("=".into(), Action::Receive));
}

#[test]
fn what_is_no_line_is_the_end() {
    let quiet = |_: &mut Reply<'_>| Next::Line;
    assert_eq!(exchange(&mut talk::<false>(quiet), b"a\n12345678"), ("=".into(), Action::ShutdownWrite));
    assert_eq!(exchange(&mut talk::<true>(quiet), b"a\r\nb\n"), ("=".into(), Action::ShutdownWrite));
}

#[test]
fn an_answer_that_came_is_no_reply_and_one_that_did_not_come_is_the_end() {
    let later = |reply: &mut Reply<'_>| Next::Later(reply.ticket(5));
    let mut answered = talk::<false>(later);
    assert_eq!(exchange(&mut answered, b"?\na\n"), ("".into(), Action::Wait));
    let ticket = answered.protocol().and_then(|quiet| quiet.ticket).expect("it was asked for");
    assert_eq!(answered.complete(ticket, NOW, |_| {}), Ok(()));
    assert_eq!(exchange(&mut answered, b""), ("=".into(), Action::Receive));

    let mut expired = talk::<false>(later);
    assert_eq!(exchange(&mut expired, b"?\na\n"), ("".into(), Action::Wait));
    expired.handle_timeout(NOW.after(4));
    assert_eq!(expired.action(), Action::Wait);
    expired.handle_timeout(NOW.after(5));
    assert_eq!(expired.action(), Action::ShutdownWrite);
}

#[test]
fn a_timer_and_a_refused_push_change_nothing() {
    let mut connection = talk::<false>(|reply| {
        reply.set_timer(5);
        Next::Line
    });
    assert_eq!(exchange(&mut connection, b"?\na"), ("".into(), Action::Receive));
    assert_eq!(connection.deadline(), Some(NOW.after(5)), "and without a limit for a line none runs");
    connection.handle_timeout(NOW.after(5));
    assert_eq!(connection.deadline(), Some(NOW.after(Limits::new().idle_ms)));
    assert!(connection.push(b"1234567", NOW).is_ok() && connection.push(b"89", NOW).is_err());
    assert_eq!(exchange(&mut connection, b"\n"), ("1234567=".into(), Action::Receive));
}

#[test]
fn an_answer_that_cannot_come_is_not_waited_for() {
    // Of two tickets of a call the last one counts.
    let first = |reply: &mut Reply<'_>| {
        let first = reply.ticket(0);
        let _ = reply.ticket(0);
        Next::Later(first)
    };
    assert_eq!(exchange(&mut talk::<false>(first), b"?\n"), ("".into(), Action::ShutdownWrite));
}

#[test]
fn nothing_is_pushed_into_what_a_refused_client_is_told() {
    let mut connection: Talk<false> = Connection::refuse(b"the server is full", &Limits::new(), NOW);
    connection.lend(Box::default(), NOW);
    let mut told = String::new();
    while connection.action() == Action::Send {
        assert_eq!(connection.push(b"!", NOW), Err(NoRoom));
        told.push_str(&String::from_utf8_lossy(connection.transmit()));
        connection.transmitted(usize::MAX, NOW);
    }
    assert_eq!((told.as_str(), connection.action()), ("the server is full", Action::ShutdownWrite));
}

#[test]
fn who_is_not_read_has_no_limit_for_the_line_that_it_began() {
    let quiet = Quiet::<false> { next: |_| Next::Line, ticket: None };
    let mut connection: Talk<false> = Connection::new(quiet, &Limits { line_ms: 50, ..Limits::new() }, NOW);
    connection.lend(Box::default(), NOW);
    assert_eq!(exchange(&mut connection, b"a"), ("".into(), Action::Receive));
    assert_eq!(connection.deadline(), Some(NOW.after(50)));
    assert_eq!(connection.push(b"pushed", NOW), Ok(()));
    assert_eq!(connection.deadline(), Some(NOW.after(Limits::new().idle_ms)), "only the idle limit runs");
}

#[test]
fn the_limit_for_a_line_counts_from_its_own_first_byte() {
    let quiet = Quiet::<false> { next: |_| Next::Line, ticket: None };
    let mut connection: Talk<false> = Connection::new(quiet, &Limits { line_ms: 50, ..Limits::new() }, NOW);
    connection.lend(Box::default(), NOW);
    connection.receive_space()[0] = b'?';
    connection.received(1, NOW);
    // The end of a line to which nothing is said, and the beginning of the next one.
    connection.receive_space()[..2].copy_from_slice(b"\na");
    connection.received(2, NOW.after(40));
    assert_eq!(connection.deadline(), Some(NOW.after(40 + 50)));
}

/// Says something, then sends back a body of three bytes.
struct Threes(&'static [u8]);

impl Protocol for Threes {
    fn room(&self, len: usize) -> usize {
        len
    }

    fn line(&mut self, _: &[u8], reply: &mut Reply<'_>) -> Next {
        reply.put(self.0).map_or(Next::Close, |()| Next::Body(3))
    }

    fn body(&mut self, part: &[u8], _: u64, reply: &mut Reply<'_>) -> Next {
        reply.put(part).map_or(Next::Close, |()| Next::Line)
    }
}

#[test]
fn a_part_of_a_body_is_answered_at_once_if_the_reply_just_fits() {
    for (before, said) in [("1234", "1234abc"), ("12345", "12345abc"), ("123456", "123456")] {
        let mut connection: Connection<_, Box<Buffers<8>>, 8> =
            Connection::new(Threes(before.as_bytes()), &Limits::new(), NOW);
        connection.lend(Box::default(), NOW);
        connection.receive_space()[..4].copy_from_slice(b"\nabc");
        connection.received(4, NOW);
        assert_eq!(connection.transmit(), said.as_bytes());
    }
}

/// Says each line twice.
struct Twice;

impl Protocol for Twice {
    fn room(&self, len: usize) -> usize {
        2 * len
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        reply.put(&line.repeat(2)).map_or(Next::Close, |()| Next::Line)
    }
}

#[test]
fn a_line_is_answered_at_once_if_the_reply_just_fits() {
    for (lines, said) in [("ab\nc\n", "ababcc"), ("ab\ncd\n", "ababcdcd"), ("ab\ncde\n", "abab")] {
        let mut connection: Connection<_, Box<Buffers<8>>, 8> = Connection::new(Twice, &Limits::new(), NOW);
        connection.lend(Box::default(), NOW);
        connection.receive_space()[..lines.len()].copy_from_slice(lines.as_bytes());
        connection.received(lines.len(), NOW);
        assert_eq!(connection.transmit(), said.as_bytes());
    }
}
