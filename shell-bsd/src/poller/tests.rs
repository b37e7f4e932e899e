//! What the kernel says goes through the dispatcher; some of it no test can have a kernel say, so it is made by hand.

use super::*;

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::RwLockReadGuard;
use std::time::{Duration, Instant};

use evserver_core::Token;

use crate::signals::tests::no_signals;

/// What must come comes within so many milliseconds; only a failing test waits so long.
const LIMIT_MS: Option<u64> = Some(20_000);

/// More than any process has here: EBADF.
const NO_DESCRIPTOR: i32 = 60_000;

/// A poller whose waits no signal of another test ends.
fn poller() -> (Poller, RwLockReadGuard<'static, ()>) {
    (Poller::new().unwrap(), no_signals())
}

fn client(number: u64) -> Source {
    Source::Client(Token::from_bits(number))
}

fn ready(number: u64, readable: bool, writable: bool, hangup: bool) -> Meaning {
    Meaning::Ready(Event { source: client(number), readable, writable, hangup })
}

fn refused(number: u64) -> Event {
    Event { source: client(number), readable: true, writable: true, hangup: true }
}

/// An event of client 1 at descriptor 5.
fn event(filter: Filter, data: i64) -> Kevent {
    Kevent::event(5, filter, client(1).to_bits(), data)
}

/// Interests of which the kernel was told that client 1 at descriptor 5 is to be watched for this.
fn told(interest: Interest) -> Interests {
    let mut interests = Interests::default();
    interests.set(5, client(1), interest);
    interests.take_changes(&mut Vec::new());
    interests
}

/// A change for client 1 at descriptor 5, and what its answer means when the client is watched for `interest` now.
fn answer(change: Change, filter: Filter, errno: i32, interest: Interest) -> Meaning {
    let change = Kevent::change(change, 5, filter, client(1).to_bits());
    meaning(&change.answered(errno), &told(interest))
}

#[test]
fn an_end_of_stream_with_data_left_is_data() {
    let interests = told(Interest::Read);
    assert_eq!(meaning(&event(Filter::Read, 5).at_end(), &interests), ready(1, true, false, false));
}

#[test]
fn an_end_of_stream_without_data_is_for_a_receive_to_find_out() {
    let interests = told(Interest::Read);
    assert_eq!(meaning(&event(Filter::Read, 0).at_end(), &interests), ready(1, true, false, false));
}

#[test]
fn data_is_data_and_room_is_room() {
    assert_eq!(meaning(&event(Filter::Read, 5), &told(Interest::Read)), ready(1, true, false, false));
    assert_eq!(meaning(&event(Filter::Write, 9), &told(Interest::Write)), ready(1, false, true, false));
}

#[test]
fn an_end_of_sending_is_a_hangup() {
    let interests = told(Interest::Write);
    assert_eq!(meaning(&event(Filter::Write, 0).at_end(), &interests), ready(1, false, true, true));
}

#[test]
fn a_receipt_of_success_is_no_event() {
    for change in [Change::Add, Change::Delete] {
        assert_eq!(answer(change, Filter::Read, 0, Interest::Read), Meaning::Nothing);
    }
}

#[test]
fn what_is_gone_matters_for_deletions_only() {
    for errno in [libc::ENOENT, libc::EBADF] {
        for now in [Interest::None, Interest::Write] {
            assert_eq!(answer(Change::Delete, Filter::Read, errno, now), Meaning::Nothing);
        }
        let added = answer(Change::Add, Filter::Read, errno, Interest::Read);
        assert_eq!(added, Meaning::Refused(refused(1)));
    }
    assert_eq!(answer(Change::Delete, Filter::Read, libc::EACCES, Interest::None), Meaning::Refused(refused(1)));
    assert_eq!(answer(Change::Add, Filter::Write, libc::ENOMEM, Interest::Write), Meaning::Refused(refused(1)));
}

#[test]
fn answers_hide_no_event_behind_them() {
    let mut interests = Interests::default();
    // At a number that is nobody's, since a client that is refused has its socket shut.
    interests.set(NO_DESCRIPTOR, client(2), Interest::Read);
    interests.take_changes(&mut Vec::new());
    let add = Kevent::change(Change::Add, NO_DESCRIPTOR as usize, Filter::Read, client(2).to_bits());
    let delete = Kevent::change(Change::Delete, 5, Filter::Write, client(1).to_bits());
    let entries = [
        delete.answered(libc::ENOENT),
        add.answered(0),
        event(Filter::Read, 1),
        add.answered(libc::ENOMEM),
        delete.answered(libc::EBADF),
        event(Filter::Read, 2),
    ];
    let mut events = Vec::new();
    dispatch(&entries, &interests, &mut events);
    let readable = Event { source: client(1), readable: true, writable: false, hangup: false };
    assert_eq!(events, [readable, refused(2), readable]);
}

/// The clients that a wait has an event for.
fn clients(poller: &Poller) -> BTreeSet<u64> {
    (0..).map_while(|number| poller.event(number)).map(|event| event.source.to_bits()).collect()
}

#[test]
fn no_change_is_lost_when_one_fails_and_there_are_many() {
    const CLIENTS: u64 = EVENTS_IN_A_TURN as u64 * 2 + 10;
    // More than there is room for in one answer.
    let bad = || (0..CLIENTS).step_by(2);
    let no_descriptor = |number: u64| NO_DESCRIPTOR + number as i32;
    let (mut poller, _quiet) = poller();
    let (mut peer, socket) = UnixStream::pair().unwrap();
    peer.write_all(b"x").unwrap();
    // Each duplicate is readable, and a descriptor of its own.
    let sockets: Vec<_> = (0..CLIENTS).map(|_| socket.try_clone().unwrap()).collect();
    for (number, socket) in (0..).zip(&sockets) {
        if bad().any(|bad| bad == number) {
            poller.interests.set(no_descriptor(number), client(CLIENTS + number), Interest::Read);
        }
        poller.watch(socket, client(number), Interest::Read);
    }
    poller.wait(None).unwrap();
    let refused: BTreeSet<_> = bad().map(|number| CLIENTS + number).collect();
    assert!(refused.len() > EVENTS_IN_A_TURN);
    assert_eq!(clients(&poller), refused, "these at once, and no others");
    for number in bad() {
        assert_eq!(poller.interests.forget(no_descriptor(number)), Some(Filter::Read));
    }
    let mut seen = BTreeSet::new();
    while (seen.len() as u64) < CLIENTS {
        poller.wait(LIMIT_MS).unwrap();
        let some = clients(&poller);
        assert!(!some.is_empty(), "only {} clients were ever reported", seen.len());
        for number in some {
            assert!(seen.insert(number), "{number} was reported although it is not watched any more");
            poller.rewatch(&sockets[number as usize], client(number), Interest::None);
        }
    }
    poller.wait(Some(0)).unwrap();
    assert_eq!(poller.event(0), None);
}

/// More descriptors than there can be events in a turn, all of one socket, and its peer.
fn crowd() -> (UnixStream, Vec<UnixStream>) {
    let (peer, socket) = UnixStream::pair().unwrap();
    (peer, (0..EVENTS_IN_A_TURN + 50).map(|_| socket.try_clone().unwrap()).collect())
}

#[test]
fn a_turn_is_bounded_however_many_changes_there_are() {
    let (mut poller, _quiet) = poller();
    let (mut peer, sockets) = crowd();
    peer.write_all(b"x").unwrap();
    for (number, socket) in (0..).zip(&sockets) {
        poller.watch(socket, client(number), Interest::Read);
    }
    poller.wait(LIMIT_MS).unwrap();
    assert_eq!((poller.events.len(), clients(&poller).len()), (EVENTS_IN_A_TURN, EVENTS_IN_A_TURN));
}

#[test]
fn after_a_refusal_nothing_is_waited_for() {
    let (mut poller, _quiet) = poller();
    let (_peer, sockets) = crowd();
    poller.interests.set(NO_DESCRIPTOR, client(1000), Interest::Read);
    for (number, socket) in (0..).zip(&sockets) {
        poller.watch(socket, client(number), Interest::Read);
    }
    let before = Instant::now();
    poller.wait(LIMIT_MS).unwrap();
    assert!(before.elapsed() < Duration::from_millis(LIMIT_MS.unwrap()));
    assert_eq!(clients(&poller), [1000].into());
}

#[test]
fn changes_ride_with_the_wait_and_levels_last() {
    let (mut poller, _quiet) = poller();
    let (mut peer, socket) = UnixStream::pair().unwrap();
    poller.watch(&socket, client(1), Interest::Write);
    poller.rewatch(&socket, client(1), Interest::Read);
    poller.wait(Some(0)).unwrap();
    assert_eq!(poller.event(0), None, "there is room to write, but that is not asked for any more");
    peer.write_all(b"x").unwrap();
    let readable = Event { source: client(1), readable: true, writable: false, hangup: false };
    for _ in 0..3 {
        poller.wait(LIMIT_MS).unwrap();
        assert_eq!((poller.event(0), poller.event(1)), (Some(readable), None));
    }
    poller.rewatch(&socket, client(1), Interest::Write);
    poller.wait(LIMIT_MS).unwrap();
    let writable = Event { source: client(1), readable: false, writable: true, hangup: false };
    assert_eq!((poller.event(0), poller.event(1)), (Some(writable), None));
    poller.rewatch(&socket, client(1), Interest::None);
    poller.wait(Some(0)).unwrap();
    assert_eq!(poller.event(0), None);
}

#[test]
fn nothing_is_heard_of_a_client_that_left_though_a_duplicate_lives() {
    let (mut poller, _quiet) = poller();
    let (mut peer, socket) = UnixStream::pair().unwrap();
    let _duplicate = socket.try_clone().unwrap();
    poller.watch(&socket, client(1), Interest::Read);
    peer.write_all(b"x").unwrap();
    poller.wait(LIMIT_MS).unwrap();
    assert_eq!(clients(&poller), [1].into());
    poller.unwatch(&socket, client(1));
    drop(socket);
    poller.wait(Some(0)).unwrap();
    assert_eq!(poller.event(0), None);
}

#[test]
fn a_half_close_over_tcp_is_no_hangup() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, _) = listener.accept().unwrap();
    peer.write_all(b"abcde").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    let (mut poller, _quiet) = poller();
    poller.watch(&socket, client(1), Interest::Read);
    poller.wait(LIMIT_MS).unwrap();
    let readable = Event { source: client(1), readable: true, writable: false, hangup: false };
    assert_eq!((poller.event(0), poller.event(1)), (Some(readable), None));
}

#[test]
fn a_wait_without_events_ends_in_time_and_not_before() {
    let (mut poller, _quiet) = poller();
    let before = Instant::now();
    poller.wait(Some(20)).unwrap();
    assert!(before.elapsed() >= Duration::from_millis(20));
    assert_eq!(poller.event(0), None);
}
