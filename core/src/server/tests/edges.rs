//! What a poller says once: that something came, an end or a hang-up.

use super::*;
use crate::limits::Limits;

const EDGES: Settings =
    Settings { limits: Limits::new(), max_connections: None, drain_ms: 5_000, edge_triggered: true };

/// A receive that brings less than there is room for leaves the end behind it to the next one.
#[test]
fn an_end_that_came_with_the_last_bytes_is_seen_by_the_edge_that_announced_those() {
    for lines_before in 0..3 {
        let mut scene = Scene::with(1, 1, EDGES);
        for _ in 0..lines_before {
            scene.client_sends(0, b"a\n");
        }
        scene.line(0).ended = true;
        scene.client_sends(0, b"b\n");
        assert!(scene.is_gone(0), "the end was not seen after {lines_before} lines");
        assert!(scene.line(0).received.ends_with(b": b\n"));
    }
}

/// Rule 5: who lingers is not kept for two seconds when its end has come.
#[test]
fn an_end_behind_what_is_discarded_without_buffers_is_seen_at_once() {
    for (settings, hangup) in [(EDGES, false), (Settings::default(), true)] {
        let mut scene = Scene::with(1, 1, settings);
        scene.client_sends(0, b"quit\n");
        assert_eq!(scene.line(0).received, b"ready\nbye\n");
        scene.desk.pairs.clear();
        scene.line(0).input.extend(b"what nobody reads");
        scene.line(0).ended = true;
        let token = scene.token(0);
        scene.server.event(&mut scene.desk, token, true, false, hangup, NOW);
        assert!(scene.is_gone(0), "hang-up: {hangup}");
    }
}

#[test]
fn a_hang_up_is_not_forgotten_when_a_deadline_comes() {
    let mut scene = Scene::with(1, 0, EDGES);
    scene.hangs_up(0);
    assert!(!scene.is_gone(0), "it may have sent something, and there are no buffers to look");
    scene.desk.pairs.push(Buffers::new());
    scene.line(0).stuck = true;
    scene.server.run(&mut scene.desk, NOW.after(EDGES.limits.idle_ms + 300));
    assert!(scene.is_gone(0), "nothing can be sent to it any more");
    assert_eq!(scene.server.counts().failed, 1);
}
