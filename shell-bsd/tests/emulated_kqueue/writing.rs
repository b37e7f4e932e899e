//! `EVFILT_WRITE`: space, and its end.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixDatagram, UnixStream};

use crate::tools::*;

/// "returns whenever it is possible to write to the descriptor"; "data will
/// contain the amount of space remaining in the write buffer."
#[test]
fn a_socket_is_writable_while_there_is_space() {
    let (mut client, mut server) = tcp_pair();
    server.set_nonblocking(true).unwrap();
    let queue = queue(&[on(&server, EVFILT_WRITE, EV_ADD)]);
    let empty = wait_one(&queue);
    assert!(empty.data > 1 && empty.flags == 0, "{empty:?}");
    let size = socket2::SockRef::from(&server).send_buffer_size().unwrap();
    assert_eq!(empty.data, i64::try_from(size).unwrap());
    let taken = fill(&mut server);
    assert!(poll(&queue).is_empty());
    client.read_exact(&mut vec![0; taken]).unwrap();
    assert!(wait_one(&queue).data > 1);
}

/// What waits in the buffer is not space.
#[test]
fn space_is_less_what_waits_to_be_read() {
    let (_near, mut far) = UnixStream::pair().unwrap();
    let queue = queue(&[on(&far, EVFILT_WRITE, EV_ADD)]);
    let before = wait_one(&queue).data;
    far.write_all(&[0; 1000]).unwrap();
    assert!(before - wait_one(&queue).data >= 1000);
}

/// With EV_CLEAR it comes again when space comes again.
#[test]
fn space_that_comes_back_is_a_change() {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    let queue = queue(&[on(&far, EVFILT_WRITE, EV_ADD | EV_CLEAR)]);
    wait_one(&queue);
    let taken = fill(&mut far);
    assert!(poll(&queue).is_empty());
    near.read_exact(&mut vec![0; taken]).unwrap();
    assert_eq!(wait_one(&queue).filter, EVFILT_WRITE);
    assert!(poll(&queue).is_empty());
}

/// The same for a pipe, whose size is exact.
#[test]
fn a_pipe_is_writable_with_its_space() {
    let (_reader, mut writer) = std::io::pipe().unwrap();
    let queue = queue(&[on(&writer, EVFILT_WRITE, EV_ADD)]);
    let before = wait_one(&queue).data;
    writer.write_all(&[0; 100]).unwrap();
    assert_eq!(wait_one(&queue).data, before - 100);
}

/// "The filter will set EV_EOF when the reader disconnects".
#[test]
fn the_readers_end_is_an_eof_for_the_writer() {
    let _closed_for_good = no_children();
    let (reader, writer) = std::io::pipe().unwrap();
    let (near, far) = UnixStream::pair().unwrap();
    drop((reader, near));
    for add in [on(&writer, EVFILT_WRITE, EV_ADD), on(&far, EVFILT_WRITE, EV_ADD)] {
        let queue = queue(&[add]);
        // It stays, as the end does.
        for _ in 0..2 {
            assert_eq!(wait_one(&queue).flags, EV_EOF);
        }
    }
}

/// The end of the sending side is told to the sender too.
#[test]
fn shutting_the_sending_side_is_an_eof() {
    let (_client, server) = tcp_pair();
    let (_near, far) = UnixStream::pair().unwrap();
    let sockets = queue(&[on(&server, EVFILT_WRITE, EV_ADD), on(&far, EVFILT_WRITE, EV_ADD)]);
    assert!(wait(&sockets).iter().all(|event| event.flags == 0));
    server.shutdown(Shutdown::Write).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    // Finding that out must not count as an attempt to write.
    apply(&sockets, &[change(libc::SIGPIPE as usize, EVFILT_SIGNAL, EV_ADD)]);
    for _ in 0..2 {
        let events = wait(&sockets);
        assert_eq!(events.len(), 2);
        assert!(events.iter().all(|event| event.flags == EV_EOF));
    }
    // Nor is the end of one socket taken for another's.
    let (_other_near, other) = UnixStream::pair().unwrap();
    let others = queue(&[on(&other, EVFILT_WRITE, EV_ADD)]);
    wait(&sockets);
    assert_eq!(wait_one(&others).flags, 0);
}

/// Looking at a datagram socket sends no datagram, empty though it would be.
#[test]
fn looking_at_a_datagram_socket_sends_nothing() {
    let (near, far) = UnixDatagram::pair().unwrap();
    assert_eq!(wait_one(&queue(&[on(&far, EVFILT_WRITE, EV_ADD)])).flags, 0);
    assert!(poll(&queue(&[on(&near, EVFILT_READ, EV_ADD)])).is_empty());
}

/// The peer's end of stream is no end for what we send.
#[test]
fn a_half_closed_peer_can_still_be_written_to() {
    let (client, server) = tcp_pair();
    client.shutdown(Shutdown::Write).unwrap();
    let queue = queue(&[on(&server, EVFILT_READ, EV_ADD), on(&server, EVFILT_WRITE, EV_ADD)]);
    wait_until(&queue, |event| event.flags == EV_EOF);
    let events = wait(&queue);
    let flags = |filter| {
        let found = events.iter().find(|event| event.filter == filter);
        found.unwrap().flags
    };
    assert_eq!((flags(EVFILT_READ), flags(EVFILT_WRITE)), (EV_EOF, 0));
}
