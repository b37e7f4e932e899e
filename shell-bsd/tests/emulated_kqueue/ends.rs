//! `EV_EOF` of `EVFILT_READ`, and errors of sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::tools::*;

/// "If the read direction of the socket has shutdown, then the filter also sets
/// EV_EOF in flags"; "It is possible for EOF to be returned (indicating the
/// connection is gone) while there is still data pending in the socket buffer."
#[test]
fn the_end_comes_with_the_data_that_is_left() {
    let (mut client, mut server) = tcp_pair();
    client.write_all(b"quit\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let queue = queue(&[on(&server, EVFILT_READ, EV_ADD)]);
    let event = wait_until(&queue, |event| event.flags & EV_EOF != 0);
    assert_eq!((event.data, event.fflags), (5, 0));
    server.read_exact(&mut [0; 5]).unwrap();
    // The end stays when the data is gone, as a level.
    for _ in 0..2 {
        let event = wait_one(&queue);
        assert_eq!((event.data, event.flags), (0, EV_EOF));
    }
    assert_eq!(server.read(&mut [0; 1]).unwrap(), 0);
}

/// With EV_CLEAR the end comes once.
#[test]
fn a_cleared_end_comes_once() {
    let (client, server) = tcp_pair();
    let queue = queue(&[on(&server, EVFILT_READ, EV_ADD | EV_CLEAR)]);
    assert!(poll(&queue).is_empty());
    drop(client);
    assert_eq!(wait_one(&queue).flags, EV_CLEAR | EV_EOF);
    let mut list = [change(0, 0, 0)];
    let limit = Some(Duration::from_millis(20));
    assert_eq!(queue.kevent(&[], &mut list, limit).unwrap_or(0), 0);
}

/// "When the last writer disconnects, the filter will set EV_EOF in flags."
#[test]
fn the_last_writers_end_is_an_eof_of_a_pipe() {
    let _closed_for_good = no_children();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let second = writer.try_clone().unwrap();
    let queue = queue(&[on(&reader, EVFILT_READ, EV_ADD)]);
    writer.write_all(b"xy").unwrap();
    drop(writer);
    let event = wait_one(&queue);
    assert_eq!((event.data, event.flags), (2, 0));
    drop(second);
    let event = wait_one(&queue);
    assert_eq!((event.data, event.flags), (2, EV_EOF));
}

/// Our own shutdown of the receiving side is an end too.
#[test]
fn shutting_the_receiving_side_is_an_eof() {
    let (_client, server) = tcp_pair();
    let (_near, far) = UnixStream::pair().unwrap();
    server.shutdown(Shutdown::Read).unwrap();
    far.shutdown(Shutdown::Read).unwrap();
    for add in [on(&server, EVFILT_READ, EV_ADD), on(&far, EVFILT_READ, EV_ADD)] {
        assert_eq!(wait_one(&queue(&[add])).flags, EV_EOF);
    }
}

/// A reset ends both directions. FreeBSD has the error in fflags; here it is 0,
/// and the error is left for whoever reads: looking must not use it up.
#[test]
fn a_reset_is_an_eof_and_the_error_is_left_for_the_reader() {
    let (client, mut server) = tcp_pair();
    let queue = queue(&[on(&server, EVFILT_READ, EV_ADD), on(&server, EVFILT_WRITE, EV_ADD)]);
    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    drop(client);
    wait_until(&queue, |event| event.filter == EVFILT_READ && event.flags == EV_EOF);
    let events = wait(&queue);
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event.flags == EV_EOF && event.fflags == 0));
    let error = server.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}
