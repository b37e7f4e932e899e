//! What a client's turn does, and what it leaves to the others.

use super::*;
use crate::limits::Limits;
use crate::server::TURN_BYTES;
use crate::slots::Storage;

#[test]
fn a_client_that_reads_again_gets_its_reply_when_the_poller_says_so() {
    for edge_triggered in [false, true] {
        let mut scene = Scene::with(1, 1, Settings { edge_triggered, ..Settings::default() });
        scene.line(0).stuck = true;
        scene.client_sends(0, b"one\n");
        scene.is_writable(0);
        assert_eq!(scene.line(0).received, b"ready\n", "it was too early");
        scene.line(0).stuck = false;
        scene.is_writable(0);
        assert_eq!(scene.line(0).received, b"ready\n1: one\n", "edges: {edge_triggered}");
    }
}

/// Rule 6.
#[test]
fn the_poller_is_told_of_an_interest_when_it_changes_and_not_again() {
    let mut scene = Scene::new(1, 1);
    let told = |scene: &Scene| {
        let line = scene.line(0);
        (line.told, line.watched.unwrap().1)
    };
    for line in [&b"one\n"[..], b"tw", b"o\n"] {
        scene.client_sends(0, line);
        assert_eq!(told(&scene), (1, Interest::Read));
    }
    scene.line(0).stuck = true;
    for _ in 0..2 {
        scene.client_sends(0, b"three\n");
        assert_eq!(told(&scene), (2, Interest::Write));
    }
    scene.line(0).stuck = false;
    scene.is_writable(0);
    assert_eq!(told(&scene), (3, Interest::Read));
}

/// Rule 9.
#[test]
fn who_sends_without_end_has_a_turn_of_64_kib_and_then_each_other_one_has_too() {
    const LINES: usize = 20_000;
    let mut scene = Scene::new(2, 2);
    let left = |scene: &Scene| [0, 1].map(|client| scene.line(client).input.len());
    let most = TURN_BYTES + 64;
    let before = LINES * b"line\n".len();
    for client in [0, 1] {
        scene.client_sends(client, &b"line\n".repeat(LINES));
    }
    let first = left(&scene);
    assert!(first.iter().all(|&left| left < before && before - left <= most), "{first:?}");
    assert!(scene.server.must_not_sleep());
    // They have had their turn in this one.
    scene.server.run(&mut scene.desk, NOW);
    scene.is_readable(0);
    assert_eq!(left(&scene), first);
    scene.server.run(&mut scene.desk, NOW);
    let second = left(&scene);
    let moved = [0, 1].map(|client| first[client] - second[client]);
    assert!(moved.iter().all(|moved| (1..=most).contains(moved)), "{moved:?}");
    assert_eq!([0, 1].map(|client| scene.line(client).told), [1, 1], "a turn that was spent changes no interest");
}

#[test]
fn who_waits_for_buffers_is_not_woken_by_who_keeps_its_own() {
    let mut scene = Scene::new(2, 1);
    let [holder, starved] = [0, 1];
    scene.client_sends(holder, b"half a li");
    scene.client_sends(starved, b"two\n");
    scene.run_until_it_would_sleep();
    scene.client_sends(holder, b"ne and so on");
    assert!(!scene.server.must_not_sleep());
}

#[test]
fn a_panic_is_said_and_counted_and_a_close_is_not_said() {
    let mut scene = Scene::new(2, 2);
    scene.client_sends(0, b"quit\n");
    scene.line(0).ended = true;
    scene.is_readable(0);
    assert!(scene.is_gone(0) && scene.desk.complaints.is_empty());
    scene.desk.panics = true;
    scene.client_sends(1, b"one\n");
    assert!(scene.is_gone(1));
    assert_eq!(scene.desk.complaints, [Complaint::ProtocolPanicked]);
    assert_eq!((scene.server.counts().panicked, scene.server.counts().open, scene.desk.inside), (1, 0, 0));
}

#[test]
fn a_client_for_whom_no_protocol_can_be_made_is_counted_and_said_and_not_let_in() {
    let mut scene = Scene::new(0, 1);
    scene.desk.barren = true;
    scene.desk.lines.borrow_mut().insert(0, Line::default());
    scene.server.accept(&mut scene.desk, 0, NOW);
    assert_eq!((scene.server.counts().panicked, scene.server.counts().served, scene.desk.inside), (1, 0, 0));
    assert_eq!(scene.desk.complaints, [Complaint::ProtocolPanicked]);
}

type Place = Slot<Client<Desk, 64>>;

/// Promises a place more than it has.
struct Boastful([Place; 1]);

impl Storage<Client<Desk, 64>> for Boastful {
    fn capacity(&self) -> u32 {
        2
    }

    fn slot(&self, index: u32) -> Option<&Place> {
        self.0.slot(index)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Place> {
        self.0.slot_mut(index)
    }
}

#[test]
fn who_was_counted_in_and_has_no_place_is_counted_out() {
    // At a limit of one the second client is to be refused, at two to be served; there is a place for neither.
    for max_connections in [Some(1), Some(2)] {
        let settings = Settings { max_connections, ..Settings::default() };
        let mut server = Server::<Desk, _, 64>::new(Boastful([Slot::new()]), settings);
        let mut desk = Desk::new(2, 2);
        server.accept(&mut desk, 0, NOW);
        assert_eq!((desk.came, desk.inside), (2, 1));
    }
}

#[test]
fn the_idle_limit_counts_from_the_end_of_a_long_turn() {
    let mut scene = Scene::new(1, 1);
    scene.client_sends(0, b"one\n");
    let ended = NOW.after(5_000);
    scene.server.end_turn(NOW, ended);
    let idle_ms = Limits::new().idle_ms;
    assert!(scene.server.next_deadline().is_some_and(|due| due >= ended.after(idle_ms)));
    scene.server.run(&mut scene.desk, NOW.after(idle_ms + 300));
    assert!(!scene.is_gone(0), "it was closed early");
    scene.server.run(&mut scene.desk, ended.after(idle_ms + 300));
    assert!(scene.is_gone(0));
    assert_eq!(scene.server.counts().timed_out, 1);
}

/// Rule 5.
#[test]
fn the_two_seconds_of_who_lingers_count_from_the_end_of_a_long_turn_that_they_began_in_and_of_no_other() {
    for (turn_began_ms, expected_ms) in [(0, 3_000), (500, 2_000)] {
        let mut scene = Scene::new(1, 1);
        scene.client_sends(0, b"quit\n");
        scene.server.end_turn(NOW.after(turn_began_ms), NOW.after(turn_began_ms + 1_000));
        scene.server.run(&mut scene.desk, NOW.after(expected_ms));
        assert!(!scene.is_gone(0), "early, in a turn from {turn_began_ms} ms");
        scene.server.run(&mut scene.desk, NOW.after(expected_ms + 250));
        assert!(scene.is_gone(0), "late, in a turn from {turn_began_ms} ms");
    }
}

#[test]
fn a_shutdown_sleeps_while_a_client_does_not_read_and_sends_the_rest_when_it_does() {
    let mut scene = Scene::new(1, 1);
    scene.line(0).stuck = true;
    scene.client_sends(0, b"one\ntw");
    assert!(!scene.server.is_draining());
    scene.server.drain(&mut scene.desk, 1, NOW);
    assert!(scene.server.is_draining() && scene.server.must_not_sleep());
    scene.run_until_it_would_sleep();
    scene.line(0).stuck = false;
    scene.is_writable(0);
    assert_eq!(scene.line(0).received, b"ready\n1: one\n");
}
