//! `drive` over a transport that does what sockets do at their worst.

use evserver_core::{
    Action, Buffers, CloseReason, Connection, Interest, Io, Limits, NumberedEcho, Readiness, Time, Transport, Turn,
    drive,
};
use proptest::prelude::*;

use crate::framing::{config, input};
use crate::model::{NUMBERED, model};

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../proptest-regressions/transport.txt");
const N: usize = 32;

/// What the next call does.
#[derive(Clone, Copy, Debug)]
enum Whim {
    /// Moves at most so many bytes.
    Move(usize),
    WouldBlock,
    Interrupted,
}

fn whims() -> impl Strategy<Value = Vec<Whim>> {
    let whim = prop_oneof![
        6 => (1usize..50).prop_map(Whim::Move),
        2 => Just(Whim::WouldBlock),
        1 => Just(Whim::Interrupted),
    ];
    prop::collection::vec(whim, 1..40)
}

/// A socket: input that has arrived, room that the peer has given, and whims on top.
struct Wire<'a> {
    input: &'a [u8],
    /// The peer's end, or a reset, stands behind the input.
    reset: bool,
    output: Vec<u8>,
    shut: bool,
    whims: std::iter::Cycle<std::slice::Iter<'a, Whim>>,
    /// Calls that moved something, or told of an end.
    progress: u32,
    calls: u32,
    /// The last answer to each direction was would-block: the poller will say when it changes.
    blocked: (bool, bool),
}

impl Transport for Wire<'_> {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        assert!(!space.is_empty(), "a receive of nothing cannot tell an end from no news");
        self.calls += 1;
        if self.input.is_empty() {
            self.progress += 1;
            return if self.reset { Io::Failed } else { Io::End };
        }
        match self.whims.next().unwrap() {
            Whim::Interrupted => Io::Interrupted,
            Whim::WouldBlock => {
                self.blocked.0 = true;
                Io::WouldBlock
            }
            Whim::Move(most) => {
                self.progress += 1;
                let n = space.len().min(*most).min(self.input.len());
                let (now, later) = self.input.split_at(n);
                space[..n].copy_from_slice(now);
                self.input = later;
                Io::Moved(n)
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        assert!(!bytes.is_empty() && !self.shut, "nothing is sent behind our end");
        self.calls += 1;
        match self.whims.next().unwrap() {
            Whim::Interrupted => Io::Interrupted,
            Whim::WouldBlock => {
                self.blocked.1 = true;
                Io::WouldBlock
            }
            Whim::Move(most) => {
                self.progress += 1;
                let n = bytes.len().min(*most);
                self.output.extend(&bytes[..n]);
                Io::Moved(n)
            }
        }
    }

    fn shutdown_write(&mut self) {
        assert!(!self.shut, "shut twice");
        self.shut = true;
        self.progress += 1;
    }
}

/// How events are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Level,
    Edge,
    /// One transfer a turn, always allowed to try.
    Blocking,
}

proptest! {
    #![proptest_config(config(3000, SEEDS))]

    #[test]
    fn bytes_move_whenever_they_can_and_nothing_else_happens(
        input in input(30),
        reset in any::<bool>(),
        whims in whims(),
        mode in prop::sample::select(vec![Mode::Level, Mode::Edge, Mode::Blocking]),
        budget in prop_oneof![Just(1usize), 1usize..200, Just(65_536)],
        early in prop::collection::vec(any::<bool>(), 1..8),
    ) {
        // Something must move in the end, or nothing is to be expected.
        prop_assume!(whims.iter().any(|whim| matches!(whim, Whim::Move(_))));
        let budget = if mode == Mode::Blocking { 1 } else { budget };
        let now = Time::from_ms(5);
        let mut connection: Connection<_, Box<Buffers<N>>, N> =
            Connection::new(NumberedEcho::new(), &Limits::new(), now);
        let mut wire = Wire {
            input: &input, reset, output: Vec::new(), shut: false, whims: whims.iter().cycle(),
            progress: 0, calls: 0, blocked: (false, false),
        };
        let mut early = early.iter().cycle();
        let mut readiness = Readiness { until_would_block: mode == Mode::Edge, ..Readiness::NONE };
        // Directions of which an edge is still to come.
        let mut edges = (true, false);
        let reason = loop {
            if connection.action() == Action::Lend {
                connection.lend(Box::default(), now);
            }
            let before = (wire.progress, wire.calls);
            wire.blocked = (false, false);
            match drive(&mut connection, &mut wire, &mut readiness, now, budget) {
                Turn::Closed(reason) => break reason,
                Turn::Again => {
                    // Interruptions alone may use a turn up.
                    prop_assert!(wire.calls > before.1, "a turn that did nothing wants another");
                    if mode == Mode::Blocking {
                        readiness = Readiness::ALL;
                    }
                    continue;
                }
                Turn::Lend => {
                    prop_assert!(!connection.has_buffers());
                    connection.lend(Box::default(), now);
                    continue;
                }
                Turn::Waiting => {}
            }
            // What it waits for is what the poller is asked for.
            let interest = connection.interest();
            prop_assert_eq!(interest == Interest::Write, !connection.transmit().is_empty());
            prop_assert!(interest != Interest::None, "nothing can wake it");
            match mode {
                // A short transfer used the readiness up, or would-block did. The level says so again; at times a
                // flag comes that turns out to be wrong.
                Mode::Level => {
                    let lie = *early.next().unwrap();
                    readiness = Readiness {
                        readable: interest == Interest::Read || lie,
                        writable: interest == Interest::Write || lie,
                        ..Readiness::NONE
                    };
                }
                // Only would-block brings an edge, and so does the beginning of the watch.
                Mode::Edge => {
                    edges.0 |= wire.blocked.0;
                    edges.1 |= wire.blocked.1;
                    let edge = if interest == Interest::Read { &mut edges.0 } else { &mut edges.1 };
                    prop_assert!(std::mem::take(edge), "it waits for an edge that will never come");
                    readiness.readable |= interest == Interest::Read;
                    readiness.writable |= interest == Interest::Write;
                }
                Mode::Blocking => readiness = Readiness::ALL,
            }
            // Without buffers between two events, as an idle connection is.
            if let Some(buffers) = connection.reclaim() {
                prop_assert!(buffers.is_empty());
            }
        };
        let expected = model(&NUMBERED, N, &input, true);
        if reset {
            prop_assert!(expected.output.starts_with(&wire.output));
            let closed_before = expected.closed == Some(CloseReason::Protocol);
            prop_assert!(reason == CloseReason::Failed || (closed_before && reason == CloseReason::Protocol));
        } else {
            prop_assert_eq!(&wire.output, &expected.output);
            prop_assert_eq!(Some(reason), expected.closed);
        }
        if wire.shut {
            prop_assert_eq!(&wire.output, &expected.output, "our end came before the last reply");
        }
    }
}
