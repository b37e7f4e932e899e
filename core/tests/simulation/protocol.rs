//! The numbered echo with lines that ask for something: an answer from elsewhere, a panic.

use evserver_core::{CloseReason, Next, NumberedEcho, Protocol, Reply};

use crate::world::Shared;

/// What a protocol panics with when it is asked to.
pub struct OnPurpose;

pub struct Echo {
    inner: NumberedEcho,
    world: Shared,
    link: usize,
    /// The line whose answer comes from elsewhere.
    kept: Vec<u8>,
}

impl Echo {
    pub fn new(world: Shared, link: usize) -> Self {
        Self { inner: NumberedEcho::new(), world, link, kept: Vec::new() }
    }

    fn later(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        self.kept = line.to_vec();
        let world = &mut *self.world.borrow_mut();
        let random = &mut world.random;
        let timeout_ms = random.pick(&[0, 1, 100, 2_000, 40_000]);
        let ticket = reply.ticket(timeout_ms);
        let mut delays: Vec<u64> = vec![random.spread(3_000_000)];
        if timeout_ms != 0 && random.one_in(3) {
            delays.clear();
        }
        if random.one_in(3) {
            // An answer that comes twice, or for nobody.
            delays.push(random.spread(60_000_000));
        }
        for delay_us in delays {
            world.answer_in(delay_us, self.link, ticket);
        }
        let until_us = (timeout_ms != 0).then(|| world.turn_began_us + u64::from(timeout_ms) * 1000);
        let link = &mut world.links[self.link];
        link.waiting = true;
        link.asked = Some((ticket, until_us));
        Next::Later(ticket)
    }

    /// A ticket never expires early, and one without a limit never.
    fn expired(&self) {
        let world = &mut *self.world.borrow_mut();
        world.note("expired ticket");
        if let Some((_, until_us)) = world.links[self.link].asked {
            let until_us = until_us.expect("a ticket with a limit");
            assert!(world.clock_us >= until_us, "a ticket expired {} µs early", until_us - world.clock_us);
        }
    }

    fn answered(&mut self, reply: &mut Reply<'_>) -> Next {
        let line = std::mem::take(&mut self.kept);
        let next = self.inner.line(&line, reply);
        if next == Next::More {
            self.kept = line;
        }
        let world = &mut *self.world.borrow_mut();
        let link = &mut world.links[self.link];
        link.waiting = false;
        link.asked = None;
        link.moved_us = world.clock_us;
        next
    }
}

impl Protocol for Echo {
    fn room(&self, len: usize) -> usize {
        self.inner.room(len)
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        self.inner.open(reply)
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        if line.starts_with(b"!panic") {
            {
                let world = &mut *self.world.borrow_mut();
                world.links[self.link].poisoned = true;
                world.note("panic");
            }
            std::panic::resume_unwind(Box::new(OnPurpose));
        }
        if line.starts_with(b"!later") {
            return self.later(line, reply);
        }
        self.inner.line(line, reply)
    }

    fn too_long(&mut self, reply: &mut Reply<'_>) -> Next {
        self.inner.too_long(reply)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        self.answered(reply)
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        self.expired();
        self.answered(reply)
    }

    fn closed(&mut self, reason: CloseReason) {
        let mut world = self.world.borrow_mut();
        let link = &mut world.links[self.link];
        assert!(link.reason.is_none(), "told its end twice");
        link.reason = Some(reason);
        link.asked = None;
    }
}
