//! Deadlines on a device: a peer that says nothing.

use evserver_core::{Buffers, CloseReason, IDLE_MS, Interest, Io, Time, Transport};

use crate::talk::{Event, Wire, talk};

/// Takes the greeting and says nothing. Its clock stands until somebody sleeps.
struct Silent {
    slept_until: Time,
}

impl Transport for Silent {
    fn receive(&mut self, _: &mut [u8]) -> Io {
        Io::WouldBlock
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        Io::Moved(bytes.len())
    }

    fn shutdown_write(&mut self) {}
}

impl Wire for Silent {
    fn wait(&mut self, _: Interest, deadline: Option<Time>) -> Event {
        self.slept_until = deadline.unwrap_or(Time::NEVER);
        Event::Deadline(self.slept_until)
    }
}

/// When a silent peer is closed: whether that is at the idle limit, to the millisecond.
pub fn ends_at_the_limit(buffers: &mut Buffers) -> bool {
    let mut peer = Silent { slept_until: Time::from_ms(0) };
    let reason = talk(&mut peer, buffers);
    reason == CloseReason::IdleTimeout && peer.slept_until == Time::from_ms(u64::from(IDLE_MS))
}
