//! Takes lines out of the input.

use core::borrow::BorrowMut;

use super::answer::{Flow, Told};
use super::{Connection, PeerEnd, Step};
use crate::buffers::{Buffers, find};
use crate::protocol::{LineEnd, Next, Protocol};
use crate::reply::{Reply, TimerRequest};
use crate::time::Time;

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// Hands over whole lines for as long as there is room for their replies.
    ///
    /// One reply is lent for all of them: this loop is what a busy server does.
    pub(super) fn answer_lines(&mut self, now: Time) -> Flow {
        let (Some(buffers), Some(protocol)) = (&mut self.buffers, &mut self.protocol) else { return Flow::Stop };
        let Buffers { input, output } = buffers.borrow_mut();
        let was_empty = output.is_empty();
        let mut reply = Reply {
            free: output.space(),
            written: 0,
            behind: 0,
            timer: TimerRequest::Keep,
            aside: &mut self.aside,
        };
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
                let written = reply.written - before.0;
                let told = Told { written, was_empty: empty, ticket: before.1, timer: reply.timer };
                break Stop::Said(next, end, told);
            }
            (rest, searched, again) = (behind, 0, false);
        };
        let taken = input.len() - rest.len();
        let (written, timer) = (reply.written, reply.timer);
        output.fill(written);
        input.consume(taken);
        input.searched(searched);
        self.again = again;
        if taken > 0 {
            self.line_began = Time::NEVER;
        }
        match stop {
            Stop::NoRoom => {
                self.set_timer(timer, now);
                Flow::Stop
            }
            Stop::NoLine => {
                self.set_timer(timer, now);
                self.no_line()
            }
            Stop::Poisoned(end) => {
                input.consume(end + 1);
                self.set_timer(timer, now);
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

    /// Drops input up to and including the end of the line.
    pub(super) fn drop_rest_of_line(&mut self) -> Flow {
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
