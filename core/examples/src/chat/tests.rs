//! A member that is alone in the room, in every way in which its lines could be cut.

use std::net::{Ipv4Addr, SocketAddr};

use evserver_core::testing::Conversation;
use evserver_core::{Buffers, Connection, Time};
use evserver_hosted::Job;

use super::*;

/// What the loop would do with what the member asks of it.
fn work<const N: usize>(handle: &Handle<Chat>, connection: &mut Connection<Chat, &mut Buffers<N>, N>) {
    while let Some(job) = handle.next() {
        if let Job::Complete(ticket, answer) = job {
            // One of a conversation before this one is late.
            let _ = connection.complete(ticket, Time::from_ms(0), answer);
        }
    }
}

#[test]
fn a_member_is_greeted_told_of_long_lines_and_may_leave() {
    let (handle, _woken) = Handle::pair().unwrap();
    let peer = Peer { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)), handle: handle.clone() };
    let long = "x".repeat(LINE_BYTES + 1);
    let input = format!("hello\r\n\n{long}\nhello again\n/quit\nnobody hears this\n");
    let output = "* you are guest-1, others here: 0\n* that line is too long, nobody got it\n";
    let talk = Conversation::new(input.as_bytes(), output.as_bytes()).random_cuts(200);
    let alone = || Chat::new(&Arc::default(), &peer);
    talk.check_deferred::<_, 4096>(alone, |connection| work(&handle, connection)).unwrap();
    // A line that does not even fit the input is told of once as well.
    talk.check_deferred::<_, 256>(alone, |connection| work(&handle, connection)).unwrap();
}

#[test]
fn names_cannot_be_forged_and_terminals_not_be_played_with() {
    assert_eq!(named(7, b"a\tb\x1b[2Jc\x7f\r"), b"guest-7: a\tb?[2Jc??\n");
    assert_eq!(named(7, "\u{e4}".as_bytes()), "guest-7: \u{e4}\n".as_bytes());
}
