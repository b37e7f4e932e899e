//! Has the protocol answer everything that input and room allow.

use core::borrow::BorrowMut;

use super::{Connection, Drain, PeerEnd, State, Step, Telling, Unasked};
use crate::buffers::{Buffers, find};
use crate::protocol::{LineEnd, Next, Protocol};
use crate::reason::CloseReason;
use crate::reply::{Aside, Reply, TimerRequest};
use crate::time::Time;

/// What to do after one step of [`Connection::answer`].
enum Flow {
    /// There may be more to answer.
    Go,
    /// Input, room, an answer or buffers must come first.
    Stop,
}

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// Goes on until the peer must send, the peer must take output, an answer must come, or it is over.
    ///
    /// Called after everything that could have changed one of these. It ends: each round takes bytes from the
    /// input, writes to the output, takes a step that cannot be taken twice, or is the last.
    pub(super) fn answer(&mut self, now: Time) {
        while let State::Open(step) = self.state {
            let flow = if self.unasked != Unasked::NONE && self.may_speak_unasked(step) {
                self.speak_unasked(now)
            } else if self.unasked.telling != Telling::Nothing {
                // A reply would land in the middle of what is said.
                Flow::Stop
            } else {
                match step {
                    Step::Line => self.answer_lines(now),
                    Step::RestOfLine => self.drop_rest_of_line(),
                    Step::Body(left) => self.answer_body(left, now),
                    Step::Skip(left) => self.skip(left),
                    Step::Later(..) => Flow::Stop,
                    Step::Refuse(text) => self.refuse_with(text),
                    Step::Open => self.tell(now, |protocol, _, reply| protocol.open(reply)),
                    Step::TooLong => self.tell(now, |protocol, _, reply| protocol.too_long(reply)),
                    Step::BareNewline => self.tell(now, |protocol, _, reply| protocol.bare_newline(reply)),
                    Step::Completed => self.tell(now, |protocol, _, reply| protocol.completed(reply)),
                    Step::Expired => self.tell(now, |protocol, _, reply| protocol.ticket_expired(reply)),
                    Step::End => self.tell(now, |protocol, tail, reply| protocol.end(tail, reply)),
                }
            };
            if let Flow::Stop = flow {
                break;
            }
        }
        self.note_line_begin(now);
        if let State::Flushing(reason) = self.state
            && self.end != PeerEnd::Open
            && self.transmit().is_empty()
        {
            // Both sides have ended: nothing can still arrive, so there is nothing to linger for.
            self.finish(reason);
        }
    }

    /// Hands over whole lines for as long as there is room for their replies.
    ///
    /// One reply is lent for all of them: this loop is what a busy server does.
    fn answer_lines(&mut self, now: Time) -> Flow {
        let (Some(buffers), Some(protocol)) = (&mut self.buffers, &mut self.protocol) else { return Flow::Stop };
        let Buffers { input, output } = buffers.borrow_mut();
        let was_empty = output.is_empty();
        let mut reply = Reply { free: output.space(), written: 0, behind: 0, aside: &mut self.aside };
        let mut again = self.again;
        let (mut rest, mut searched) = input.unread();
        let stop = loop {
            let Some(end) = find(P::LINE_END.last_byte(), rest, searched) else {
                searched = rest.len();
                break Stop::NoLine;
            };
            // If it has to wait it is found again at once.
            searched = end;
            let Some((bytes, [_, behind @ ..])) = rest.split_at_checked(end) else { break Stop::NoLine };
            let line = match (P::LINE_END, bytes) {
                (LineEnd::Newline | LineEnd::CrLf, [line @ .., b'\r']) => line,
                (LineEnd::CrLf, _) => break Stop::Poisoned(end),
                (LineEnd::Newline | LineEnd::Byte(_), line) => line,
            };
            let empty = was_empty && reply.written == 0;
            if !empty && (again || reply.room() < protocol.room(line.len())) {
                break Stop::NoRoom;
            }
            let before = (reply.written, reply.aside.ticket);
            reply.behind = behind.len();
            let next = protocol.line(line, &mut reply);
            if next != Next::Line {
                let told = Told { written: reply.written - before.0, was_empty: empty, ticket: before.1 };
                break Stop::Said(next, end, told);
            }
            (rest, searched, again) = (behind, 0, false);
        };
        let taken = input.len() - rest.len();
        let written = reply.written;
        output.fill(written);
        input.consume(taken);
        input.searched(searched);
        self.again = again;
        if taken > 0 {
            self.line_began = Time::NEVER;
        }
        match stop {
            Stop::NoRoom => {
                self.set_timer(now);
                Flow::Stop
            }
            Stop::NoLine => {
                self.set_timer(now);
                self.no_line()
            }
            Stop::Poisoned(end) => {
                input.consume(end + 1);
                self.set_timer(now);
                self.drop_line = true;
                self.state.step(Step::BareNewline);
                Flow::Go
            }
            Stop::Said(next, end, told) => {
                if next != Next::More {
                    input.consume(end + 1);
                    self.line_began = Time::NEVER;
                }
                self.follow(next, told, now)
            }
        }
    }

    /// There is no whole line in the input.
    fn no_line(&mut self) -> Flow {
        let Some(buffers) = &mut self.buffers else { return Flow::Stop };
        let input = &mut buffers.borrow_mut().input;
        if input.is_full() {
            self.drop_line = true;
            self.state.step(Step::TooLong);
            Flow::Go
        } else {
            self.input_is_over()
        }
    }

    /// Without more input nothing goes on, unless none will come: then that is what comes next.
    fn input_is_over(&mut self) -> Flow {
        match (self.end, self.drain) {
            (PeerEnd::Seen, _) => {
                self.end = PeerEnd::Told;
                self.state.step(Step::End);
                Flow::Go
            }
            (PeerEnd::Told, _) => self.close(CloseReason::PeerEnd),
            (PeerEnd::Open, Drain::Last) => self.close(CloseReason::Drained),
            (PeerEnd::Open, Drain::Off | Drain::Owed) => Flow::Stop,
        }
    }

    /// Drops input up to and including the end of the line.
    fn drop_rest_of_line(&mut self) -> Flow {
        let Some(buffers) = &mut self.buffers else { return Flow::Stop };
        let input = &mut buffers.borrow_mut().input;
        match input.find(P::LINE_END.last_byte()) {
            Some(end) => {
                let ended =
                    P::LINE_END != LineEnd::CrLf || input.filled().get(..end).unwrap_or(&[]).ends_with(b"\r");
                input.consume(end + 1);
                if ended {
                    self.line_began = Time::NEVER;
                    self.drop_line = false;
                    self.state.step(Step::Line);
                }
                Flow::Go
            }
            None => {
                // A CR may be the first half of the line's end.
                let keep = usize::from(P::LINE_END == LineEnd::CrLf && input.filled().ends_with(b"\r"));
                input.consume(input.len() - keep);
                if self.end == PeerEnd::Seen {
                    input.clear();
                }
                self.input_is_over()
            }
        }
    }

    /// Hands over what is there of a body, if there is room for its reply.
    fn answer_body(&mut self, left: u64, now: Time) -> Flow {
        let (Some(buffers), Some(protocol)) = (&mut self.buffers, &mut self.protocol) else { return Flow::Stop };
        let Buffers { input, output } = buffers.borrow_mut();
        let here = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
        if here == 0 && left > 0 {
            return self.input_is_over();
        }
        let part = input.filled().get(..here).unwrap_or(&[]);
        let was_empty = output.is_empty();
        if !was_empty && (self.again || output.room() < protocol.room(part.len())) {
            return Flow::Stop;
        }
        let ticket = self.aside.ticket;
        let still = left - here as u64;
        let (next, written) =
            call(output, &mut self.aside, input.len() - here, |reply| protocol.body(part, still, reply));
        if next != Next::More {
            input.consume(here);
        }
        if left == 0 && next == Next::Body(0) {
            return self.close(CloseReason::NoProgress);
        }
        self.follow(next, Told { written, was_empty, ticket }, now)
    }

    /// Drops what is there of bytes that nobody wants.
    fn skip(&mut self, left: u64) -> Flow {
        let Some(buffers) = &mut self.buffers else { return Flow::Stop };
        let input = &mut buffers.borrow_mut().input;
        let here = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
        input.consume(here);
        match left - here as u64 {
            0 => self.next_line(),
            still => {
                self.state.step(Step::Skip(still));
                self.input_is_over()
            }
        }
    }

    /// Makes a call that needs an empty output; `tail` is what the input holds.
    fn tell(&mut self, now: Time, ask: impl FnOnce(&mut P, &[u8], &mut Reply<'_>) -> Next) -> Flow {
        let (Some(buffers), Some(protocol)) = (&mut self.buffers, &mut self.protocol) else { return Flow::Stop };
        let Buffers { input, output } = buffers.borrow_mut();
        if !output.is_empty() {
            return Flow::Stop;
        }
        let ticket = self.aside.ticket;
        // What is left at the peer's end is what that call gets.
        let behind = if self.state == State::Open(Step::End) { 0 } else { input.len() };
        let (next, written) = call(output, &mut self.aside, behind, |reply| ask(protocol, input.filled(), reply));
        self.follow(next, Told { written, was_empty: true, ticket }, now)
    }

    /// The timer and what was missed wait for an empty output, for the end of a reply, and for an answer that is under
    /// way.
    fn may_speak_unasked(&self, step: Step) -> bool {
        !self.again
            && matches!(step, Step::Line | Step::RestOfLine | Step::Body(_) | Step::Skip(_))
            && self.has_buffers()
            && self.transmit().is_empty()
    }

    /// Makes the call that has more to say, or else one that is due.
    fn speak_unasked(&mut self, now: Time) -> Flow {
        let (Some(buffers), Some(protocol)) = (&mut self.buffers, &mut self.protocol) else { return Flow::Stop };
        let telling = match self.unasked.telling {
            Telling::Nothing if self.unasked.timer => {
                // What it sets while it is told stays set when it is asked for the rest.
                self.timer_due = Time::NEVER;
                self.unasked.timer = false;
                Telling::Timer
            }
            Telling::Nothing => Telling::Missed,
            telling => telling,
        };
        let Buffers { input, output } = buffers.borrow_mut();
        let missed = self.unasked.missed;
        let (next, written) = call(output, &mut self.aside, input.len(), |reply| match telling {
            Telling::Timer => protocol.timer(reply),
            Telling::Missed | Telling::Nothing => protocol.missed(missed, reply),
        });
        if next == Next::More {
            self.unasked.telling = telling;
        } else {
            self.unasked.telling = Telling::Nothing;
            if telling == Telling::Missed {
                self.unasked.missed = 0;
            }
        }
        self.set_timer(now);
        match next {
            Next::Close => self.close(CloseReason::Protocol),
            Next::More if written == 0 => self.close(CloseReason::NoProgress),
            Next::More => Flow::Stop,
            Next::Line | Next::Body(_) | Next::Skip(_) | Next::Later(_) => {
                let name = if telling == Telling::Timer { "timer" } else { "missed" };
                debug_assert!(next == Next::Line, "`{name}` may not change what comes next");
                Flow::Go
            }
        }
    }

    /// Writes what fits of the text for a refused client.
    fn refuse_with(&mut self, text: &'static [u8]) -> Flow {
        let Some(buffers) = &mut self.buffers else { return Flow::Stop };
        let output = &mut buffers.borrow_mut().output;
        let (now, later) = text.split_at_checked(output.room()).unwrap_or((text, &[]));
        output.append(now);
        if later.is_empty() {
            self.close(CloseReason::Refused)
        } else {
            self.state.step(Step::Refuse(later));
            Flow::Stop
        }
    }

    /// Does what the protocol said comes next.
    fn follow(&mut self, next: Next, told: Told, now: Time) -> Flow {
        self.set_timer(now);
        self.again = next == Next::More;
        let ended = matches!(self.state, State::Open(Step::End));
        if ended
            && next != Next::More
            && let Some(buffers) = &mut self.buffers
        {
            buffers.borrow_mut().input.clear();
        }
        match next {
            Next::More if told.written == 0 && told.was_empty => self.close(CloseReason::NoProgress),
            Next::More => Flow::Stop,
            Next::Close if ended => self.close(CloseReason::PeerEnd),
            Next::Close => self.close(CloseReason::Protocol),
            Next::Line | Next::Body(_) | Next::Skip(_) if ended => {
                debug_assert!(next == Next::Line, "nothing follows the peer's end");
                self.close(CloseReason::PeerEnd)
            }
            Next::Line => self.next_line(),
            Next::Body(left) => {
                self.state.step(Step::Body(left));
                Flow::Go
            }
            Next::Skip(left) => {
                self.state.step(Step::Skip(left));
                Flow::Go
            }
            Next::Later(ticket) if ticket.serial == self.aside.ticket && ticket.serial != told.ticket => {
                self.state.later(ticket, now);
                Flow::Stop
            }
            Next::Later(_) => self.close(CloseReason::NoProgress),
        }
    }

    /// A line comes next, behind the rest of one that was refused.
    fn next_line(&mut self) -> Flow {
        self.state.step(if self.drop_line { Step::RestOfLine } else { Step::Line });
        Flow::Go
    }

    /// Carries out what the call asked of the timer.
    #[inline]
    fn set_timer(&mut self, now: Time) {
        match self.aside.timer {
            TimerRequest::Keep => return,
            TimerRequest::Set(ms) => self.timer_due = now.after(ms),
            TimerRequest::Stop => self.timer_due = Time::NEVER,
        }
        // If it was not told yet: the setting that made it due is no more.
        self.unasked.timer = false;
        self.aside.timer = TimerRequest::Keep;
    }

    /// Notes when the first byte of a line came, once nothing but that line is buffered.
    #[inline]
    fn note_line_begin(&mut self, now: Time) {
        if self.line_began == Time::NEVER && self.transmit().is_empty() {
            let has_begun = match self.state {
                State::Open(Step::Line) => self.has_unread_input(),
                // What there was of it is dropped already.
                State::Open(Step::RestOfLine) => true,
                State::Open(_) | State::Flushing(_) | State::Lingering(..) | State::Closed(_) => false,
            };
            if has_begun {
                self.line_began = now;
            }
        }
    }

    /// Takes no more input; what was buffered of it is dropped: nothing behind the end is answered.
    fn close(&mut self, reason: CloseReason) -> Flow {
        if let Some(buffers) = &mut self.buffers {
            buffers.borrow_mut().input.clear();
        }
        self.again = false;
        self.state.close(reason);
        Flow::Stop
    }
}

/// Why no further line is handed over.
enum Stop {
    /// There is none.
    NoLine,
    /// There is none yet for its reply.
    NoRoom,
    /// The next one, of so many bytes, has a newline without its CR.
    Poisoned(usize),
    /// The protocol said so for the line of so many bytes.
    Said(Next, usize, Told),
}

/// What was seen around one call of the protocol.
struct Told {
    /// Bytes that it wrote.
    written: usize,
    /// Whether the output was empty before.
    was_empty: bool,
    /// The ticket that was the last one before.
    ticket: u32,
}

/// Lends the free output for one call and keeps what was written. `behind` is the input that the call does not get.
#[inline]
fn call<const N: usize>(
    output: &mut crate::buffers::Output<N>,
    aside: &mut Aside,
    behind: usize,
    ask: impl FnOnce(&mut Reply<'_>) -> Next,
) -> (Next, usize) {
    let mut reply = Reply { free: output.space(), written: 0, behind, aside };
    let next = ask(&mut reply);
    let written = reply.written;
    output.fill(written);
    (next, written)
}
