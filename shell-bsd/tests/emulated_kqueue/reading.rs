//! `EVFILT_READ`: data, listeners, and both filters on one descriptor.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Instant;

use crate::tools::*;

/// "Sockets which have previously been passed to listen(2) return when there is
/// an incoming connection pending. data contains the size of the listen
/// backlog."
#[test]
fn a_listener_returns_with_the_number_of_pending_connections() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let queue = queue(&[on(&listener, EVFILT_READ, EV_ADD)]);
    assert!(poll(&queue).is_empty());
    let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    wait_until(&queue, |event| event.data == 3);
    for left in [2, 1] {
        listener.accept().unwrap();
        assert_eq!(wait_one(&queue).data, left);
    }
    listener.accept().unwrap();
    assert!(poll(&queue).is_empty());
    drop(clients);
}

/// A listening Unix socket does not tell how many, but that there is one.
#[test]
fn a_unix_listener_returns_with_one() {
    let directory = std::env::temp_dir();
    let path = directory.join(format!("kqueue-listener-{}", std::process::id()));
    // Left by an earlier process of the same number, if at all.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let queue = queue(&[on(&listener, EVFILT_READ, EV_ADD)]);
    assert!(poll(&queue).is_empty());
    let _client = UnixStream::connect(&path).unwrap();
    assert_eq!(wait_one(&queue).data, 1);
    std::fs::remove_file(&path).unwrap();
}

/// "data contains the number of bytes of protocol data available to read."
#[test]
fn a_socket_returns_with_the_number_of_bytes() {
    let (mut client, mut server) = tcp_pair();
    let queue = queue(&[on(&server, EVFILT_READ, EV_ADD)]);
    assert!(poll(&queue).is_empty());
    client.write_all(b"hello").unwrap();
    assert_eq!(wait_one(&queue).data, 5);
    server.read_exact(&mut [0; 2]).unwrap();
    let event = wait_one(&queue);
    assert_eq!((event.data, event.flags, event.fflags), (3, 0, 0));
}

/// "Fifos, Pipes: Returns when there is data to read; data contains the number
/// of bytes available."
#[test]
fn a_pipe_returns_with_the_number_of_bytes() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let queue = queue(&[on(&reader, EVFILT_READ, EV_ADD)]);
    assert!(poll(&queue).is_empty());
    writer.write_all(b"1234").unwrap();
    assert_eq!(wait_one(&queue).data, 4);
}

/// A datagram socket is ready too.
#[test]
fn a_datagram_returns_with_its_size() {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let queue = queue(&[on(&receiver, EVFILT_READ, EV_ADD)]);
    sender.send_to(b"1234567", receiver.local_addr().unwrap()).unwrap();
    let event = wait_one(&queue);
    assert_eq!((event.data, event.flags), (7, 0));
}

/// "The filter is executed upon the initial registration of a kevent in order to
/// detect whether a preexisting condition is present".
#[test]
fn data_from_before_the_registration_counts() {
    let (mut near, far) = UnixStream::pair().unwrap();
    near.write_all(b"ab").unwrap();
    for flags in [0, EV_CLEAR] {
        let queue = queue(&[on(&far, EVFILT_READ, EV_ADD | flags)]);
        assert_eq!(wait_one(&queue).data, 2);
    }
}

/// "If the filter indicates that the condition that triggered the event no
/// longer holds, the kevent is removed from the kqueue and is not returned."
#[test]
fn data_that_was_read_meanwhile_is_not_returned() {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    for flags in [0, EV_CLEAR] {
        let queue = queue(&[on(&far, EVFILT_READ, EV_ADD | flags)]);
        near.write_all(b"ab").unwrap();
        far.read_exact(&mut [0; 2]).unwrap();
        assert!(poll(&queue).is_empty());
    }
}

/// "Multiple events which trigger the filter do not result in multiple kevents
/// being placed on the kqueue".
#[test]
fn many_writes_are_one_event() {
    let (mut near, far) = UnixStream::pair().unwrap();
    let queue = queue(&[on(&far, EVFILT_READ, EV_ADD | EV_CLEAR)]);
    for _ in 0..10 {
        near.write_all(b"x").unwrap();
    }
    assert_eq!(wait_one(&queue).data, 10);
    assert!(poll(&queue).is_empty());
}

/// Data that comes while a thread waits wakes it.
#[test]
fn data_wakes_a_thread_that_waits() {
    let (mut client, server) = tcp_pair();
    let queue = queue(&[on(&server, EVFILT_READ, EV_ADD)]);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| wait_one(&queue).data);
        client.write_all(b"abc").unwrap();
        assert!(waiter.join().unwrap() > 0);
    });
}

/// The two filters of a descriptor are two events, with a udata each.
#[test]
fn both_filters_are_two_events() {
    let (mut near, far) = UnixStream::pair().unwrap();
    near.write_all(b"abc").unwrap();
    let queue = queue(&[marked(on(&far, EVFILT_READ, EV_ADD), 1), marked(on(&far, EVFILT_WRITE, EV_ADD), 2)]);
    let seen = || -> Vec<_> {
        let mut seen: Vec<_> = poll(&queue).iter().map(|event| (event.filter, mark(event))).collect();
        seen.sort_unstable();
        seen
    };
    assert_eq!(seen(), [(EVFILT_WRITE, 2), (EVFILT_READ, 1)]);
    apply(&queue, &[marked(on(&far, EVFILT_WRITE, EV_DISABLE), 2)]);
    assert_eq!(seen(), [(EVFILT_READ, 1)]);
    apply(&queue, &[on(&far, EVFILT_READ, EV_DELETE)]);
    assert_eq!(seen(), []);
    apply(&queue, &[marked(on(&far, EVFILT_WRITE, EV_ENABLE), 3)]);
    assert_eq!(seen(), [(EVFILT_WRITE, 3)]);
}

/// With room for one event only, both filters of a descriptor get their turn.
#[test]
fn both_filters_share_a_list_of_one() {
    let (mut near, far) = UnixStream::pair().unwrap();
    near.write_all(b"abc").unwrap();
    for flags in [0, EV_CLEAR] {
        let queue = queue(&[on(&far, EVFILT_READ, EV_ADD | flags), on(&far, EVFILT_WRITE, EV_ADD | flags)]);
        let mut filters = [0, 1].map(|_| poll_room(&queue, 1)[0].filter);
        filters.sort_unstable();
        assert_eq!(filters, [EVFILT_WRITE, EVFILT_READ]);
    }
}

/// One filter may have EV_CLEAR and the other not: the level stays, the other
/// ends.
#[test]
fn a_level_and_a_cleared_filter_go_together() {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    near.write_all(b"abc").unwrap();
    let queue = queue(&[on(&far, EVFILT_READ, EV_ADD), on(&far, EVFILT_WRITE, EV_ADD | EV_CLEAR)]);
    for _ in 0..3 {
        let events = wait(&queue);
        assert!(events.iter().any(|event| event.filter == EVFILT_READ));
    }
    far.read_exact(&mut [0; 3]).unwrap();
    // The last report of the level may have brought the other one once more.
    let start = Instant::now();
    while !poll(&queue).is_empty() {
        assert!(start.elapsed() < LIMIT, "it does not end");
    }
    near.write_all(b"d").unwrap();
    wait_until(&queue, |event| event.filter == EVFILT_READ);
}

/// What epoll cannot watch is refused and not silently never ready.
#[test]
fn a_regular_file_is_refused() {
    let file = File::open(std::env::current_exe().unwrap()).unwrap();
    let add = on(&file, EVFILT_READ, EV_ADD);
    assert_eq!(refused(&queue(&[]), add), libc::EPERM);
}
