//! The clients' end of the network: their system calls on sockets.

use crate::link::{Link, Read, Server};
use crate::world::World;

impl World {
    /// Connects; `None` when nobody listens.
    pub fn connect(&mut self, agent: usize) -> Option<usize> {
        if self.closed {
            return None;
        }
        let most = self.scenario.pipe_bytes;
        let pipe_bytes = if self.scenario.wide_pipes { most } else { self.random.spread(most) } as usize;
        let link = self.links.len();
        self.links.push(Link::new(agent, pipe_bytes, self.scenario.buffer_bytes));
        let queue = self.random.below(self.queues.len() as u64) as usize;
        self.queues[queue].push_back(link);
        Some(link)
    }

    /// Writes as much as fits and returns how much that was; `None` when the connection is gone.
    pub fn client_write(&mut self, link: usize, bytes: &[u8]) -> Option<usize> {
        let clock_us = self.clock_us;
        let it = &mut self.links[link];
        if it.server == Server::Gone || it.reset_to_client {
            it.reset_to_client = true;
            it.down.clear();
            return None;
        }
        assert!(!it.up_end, "a client writes before its end");
        let fits = it.room_up().min(bytes.len());
        if fits > 0 {
            if it.up.is_empty() {
                it.up_since_us = clock_us;
            }
            it.up.extend(&bytes[..fits]);
            it.edge = true;
            self.touch(link);
        }
        Some(fits)
    }

    pub fn client_read(&mut self, link: usize, most: usize) -> Read {
        let it = &mut self.links[link];
        if it.reset_to_client {
            return Read::Reset;
        }
        if it.down.is_empty() {
            return if it.down_end { Read::End } else { Read::Nothing };
        }
        let count = it.down.len().min(most);
        let bytes = it.down.drain(..count).collect();
        if it.ready().writable && it.blocked {
            it.blocked = false;
            it.edge = true;
        }
        self.touch(link);
        Read::Bytes(bytes)
    }

    /// The client sends nothing more.
    pub fn client_end(&mut self, link: usize) {
        let it = &mut self.links[link];
        if !it.up_end {
            it.up_end = true;
            it.edge = true;
            self.touch(link);
        }
    }

    /// The client closes its socket: with unread bytes that is a reset.
    pub fn client_close(&mut self, link: usize) {
        if self.links[link].down.is_empty() {
            self.client_end(link);
            self.links[link].client_open = false;
        } else {
            self.client_reset(link);
        }
    }

    pub fn client_reset(&mut self, link: usize) {
        let loses_input = self.random.one_in(2);
        let it = &mut self.links[link];
        it.client_open = false;
        it.reset = true;
        it.edge = true;
        it.down.clear();
        if loses_input {
            it.up.clear();
        }
        self.touch(link);
    }
}
