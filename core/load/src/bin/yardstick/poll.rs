//! The same loop over poll(2): what epoll saves.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::connections::{BUFFER_BYTES, Fate, accept, echo};

/// Serves until an error of its own; clients' errors end their connections only.
pub fn serve(listener: &OwnedFd, greeting: bool) -> io::Result<Infallible> {
    let mut sockets: Vec<OwnedFd> = Vec::new();
    let mut buffer = [0; BUFFER_BYTES];
    loop {
        let (accepted, mut ended) = serve_these(listener, &sockets, greeting, &mut buffer)?;
        // From the back, so that no place that is still to be removed moves.
        while let Some(place) = ended.pop() {
            sockets.swap_remove(place);
        }
        sockets.extend(accepted);
    }
}

/// Serves as long as the set of connections stays as it is, so that the array for poll(2) is made only when it must
/// be; who has come and, in rising order, whose place is free.
fn serve_these(
    listener: &OwnedFd,
    sockets: &[OwnedFd],
    greeting: bool,
    buffer: &mut [u8; BUFFER_BYTES],
) -> io::Result<(Vec<OwnedFd>, Vec<usize>)> {
    let all = std::iter::once(listener).chain(sockets);
    let mut polled: Vec<PollFd<'_>> = all.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    let (mut accepted, mut ended) = (Vec::new(), Vec::new());
    while accepted.is_empty() && ended.is_empty() {
        let mut count = match poll(&mut polled, None) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        if !polled[0].revents().is_empty() {
            count -= 1;
            while let Some(socket) = accept(listener, greeting)? {
                accepted.push(socket);
            }
        }
        for (place, (polled, socket)) in polled[1..].iter().zip(sockets).enumerate() {
            if count == 0 {
                break;
            }
            if !polled.revents().is_empty() {
                count -= 1;
                if echo(socket, buffer) == Fate::Ends {
                    ended.push(place);
                }
            }
        }
    }
    Ok((accepted, ended))
}
