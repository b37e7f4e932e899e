//! Takes counted bytes out of the input.

use core::borrow::BorrowMut;

use super::answer::{Flow, Told, call};
use super::{Connection, Step};
use crate::buffers::Buffers;
use crate::protocol::{Next, Protocol};
use crate::reason::CloseReason;
use crate::time::Time;

impl<P: Protocol, B: BorrowMut<Buffers<N>>, const N: usize> Connection<P, B, N> {
    /// Hands over what is there of a body, if there is room for its reply.
    pub(super) fn answer_body(&mut self, left: u64, now: Time) -> Flow {
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
        let (next, written, timer) =
            call(output, &mut self.aside, input.len() - here, |reply| protocol.body(part, still, reply));
        if next != Next::More {
            input.consume(here);
        }
        if left == 0 && next == Next::Body(0) {
            return self.close(CloseReason::NoProgress);
        }
        self.follow(next, Told { written, was_empty, ticket, timer }, now)
    }

    /// Drops what is there of bytes that nobody wants.
    pub(super) fn skip(&mut self, left: u64) -> Flow {
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
}
