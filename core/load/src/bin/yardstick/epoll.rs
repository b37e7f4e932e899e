//! The loop over epoll(7), level-triggered.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags, add, create, wait};
use rustix::io::Errno;

use crate::connections::{BUFFER_BYTES, Fate, accept, echo};

/// Events that one wait can bring.
const EVENTS: usize = 256;

/// Serves until an error of its own; clients' errors end their connections only.
pub fn serve(listener: &OwnedFd, greeting: bool) -> io::Result<Infallible> {
    let epoll = create(CreateFlags::CLOEXEC)?;
    let listener_key = key(listener);
    add(&epoll, listener, EventData::new_u64(listener_key), EventFlags::IN)?;
    // By descriptor, which the kernel keeps small. Closing one takes it out of epoll, as nobody has a duplicate.
    let mut sockets: Vec<Option<OwnedFd>> = Vec::new();
    let mut buffer = [0; BUFFER_BYTES];
    let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS];
    loop {
        let count = match wait(&epoll, &mut events, None) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..count] {
            let key = event.data.u64();
            if key == listener_key {
                while let Some(socket) = accept(listener, greeting)? {
                    let key = self::key(&socket);
                    add(&epoll, &socket, EventData::new_u64(key), EventFlags::IN)?;
                    let place = key as usize;
                    if sockets.len() <= place {
                        sockets.resize_with(place + 1, || None);
                    }
                    sockets[place] = Some(socket);
                }
            } else if let Some(place) = sockets.get_mut(key as usize)
                && let Some(socket) = place
                && echo(socket, &mut buffer) == Fate::Ends
            {
                *place = None;
            }
        }
    }
}

fn key(socket: &OwnedFd) -> u64 {
    socket.as_raw_fd() as u64
}
