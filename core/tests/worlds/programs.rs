//! Programs of operations on a connection, in every order, those that make no sense among them.

use std::collections::BTreeSet;

use evserver_core::{
    Action, Buffers, CloseReason, Connection, Interest, Late, Limits, NoRoom, Ticket, Time, Waiting,
};

use crate::scripted::{Behind, PUSH, Scripted, TICK, Waits, scripted};

const LIMITS: Limits = Limits { idle_ms: 40, line_ms: 0, linger_ms: 20 };

/// One operation; the numbers say how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// So many bytes are received, if any may be.
    Receive(usize),
    /// So many are sent, if any are pending.
    Send(usize),
    End,
    /// So many milliseconds pass, and deadlines act.
    Pass(u32),
    /// The answer comes, or one that nobody waits for.
    Complete,
    Push,
    Drain,
    Drained,
    Lend,
    Reclaim,
    WriteShut,
    Fail,
    Abandon,
    /// Calls that must change nothing.
    Nonsense,
}

/// A connection, what it was given, and what came of it.
pub struct Run<'a, const STRICT: bool, const N: usize> {
    connection: Connection<Scripted<STRICT>, Box<Buffers<N>>, N>,
    now: Time,
    /// What was received, and what is left.
    input: &'a [u8],
    received: usize,
    sent: Vec<u8>,
    ended: bool,
    /// The end came while lines were still answered.
    told_end: bool,
    drained: bool,
    /// It was ended from outside, so that what was pending is lost.
    cut: Option<CloseReason>,
    pushes: usize,
    /// A ticket that was taken or expired.
    old: Option<Ticket>,
    state: String,
    /// Every change of state that was seen between two calls.
    pub changes: BTreeSet<(String, String)>,
}

impl<'a, const STRICT: bool, const N: usize> Run<'a, STRICT, N> {
    pub fn new(input: &'a [u8]) -> Self {
        let now = Time::from_ms(1_000);
        let mut run = Self {
            connection: Connection::new(Scripted::default(), &LIMITS, now),
            now,
            input,
            received: 0,
            sent: Vec::new(),
            ended: false,
            told_end: false,
            drained: false,
            cut: None,
            pushes: 0,
            old: None,
            state: String::new(),
            changes: BTreeSet::new(),
        };
        run.state = run.name();
        run
    }

    /// The name of the state, which is nobody's business but a test's.
    fn name(&self) -> String {
        let all = format!("{:?}", self.connection);
        let (_, state) = all.split_once("state: ").expect("a state");
        let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_owned();
        match state.strip_prefix("Open(") {
            Some(step) => word(step),
            None => word(state),
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.connection.action(), Action::Close(_))
    }

    /// Does it, and checks everything that must hold behind it.
    pub fn step(&mut self, operation: Operation) {
        self.apply(operation);
        let name = self.name();
        let state = std::mem::replace(&mut self.state, name);
        if state != self.state {
            self.changes.insert((state, self.state.clone()));
        }
        self.check();
    }

    fn apply(&mut self, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Receive(most) => self.receive(most),
            Operation::Send(most) => {
                let pending = self.connection.transmit();
                let n = pending.len().min(most);
                self.sent.extend(&pending[..n]);
                self.connection.transmitted(n, now);
            }
            Operation::End => {
                self.told_end |= !matches!(self.state.as_str(), "Flushing" | "Lingering" | "Closed");
                self.ended = true;
                self.connection.received_end(now);
            }
            Operation::Pass(ms) => self.pass(ms),
            Operation::Complete => self.complete(),
            Operation::Push => {
                let before = self.connection.transmit().to_vec();
                match self.connection.push(&PUSH, now) {
                    Ok(()) => {
                        assert_eq!(self.connection.transmit(), [&before[..], &PUSH].concat());
                        self.pushes += 1;
                    }
                    Err(NoRoom) => assert_eq!(self.connection.transmit(), before),
                }
            }
            Operation::Drain => self.connection.drain(),
            Operation::Drained => {
                self.drained |= self.connection.owes_receive() && !self.is_closed();
                self.connection.drained(now);
            }
            Operation::Lend => {
                self.connection.lend(Box::default(), now);
                assert!(self.connection.has_buffers());
            }
            Operation::Reclaim => {
                let empty = self.connection.transmit().is_empty() && !self.connection.has_unread_input();
                let had = self.connection.has_buffers();
                assert_eq!(self.connection.reclaim().is_some(), had && empty);
            }
            Operation::WriteShut => self.connection.write_shut(now),
            Operation::Fail | Operation::Abandon => {
                let reason =
                    if operation == Operation::Fail { CloseReason::Failed } else { CloseReason::DrainTimeout };
                if !self.is_closed() && self.connection.wants().waiting != Waiting::ForPeerEnd {
                    self.cut = Some(reason);
                }
                match operation {
                    Operation::Fail => self.connection.failed(),
                    _ => self.connection.abandon(reason),
                }
            }
            Operation::Nonsense => self.nonsense(),
        }
    }

    fn receive(&mut self, most: usize) {
        let lingers = self.connection.wants().waiting == Waiting::ForPeerEnd;
        let space = self.connection.receive_space();
        // A peer that has ended sends nothing.
        let n = space.len().min(most).min(self.input.len() - self.received);
        if n == 0 || self.ended {
            return;
        }
        if lingers {
            space[..n].fill(b'q');
        } else {
            space[..n].copy_from_slice(&self.input[self.received..self.received + n]);
            self.received += n;
        }
        self.connection.received(n, self.now);
    }

    fn pass(&mut self, ms: u32) {
        self.now = self.now.after(ms);
        let before = self.connection.wants();
        let shown = format!("{:?}", self.connection);
        self.connection.handle_timeout(self.now);
        if before.deadline.is_none_or(|due| self.now < due) {
            assert_eq!(format!("{:?}", self.connection), shown, "a deadline acted early");
        }
        if let Action::Close(reason) = self.connection.action()
            && before.action != self.connection.action()
            && reason == CloseReason::IdleTimeout
        {
            self.cut = Some(reason);
        }
        assert!(self.connection.deadline().is_none_or(|due| due > self.now), "a deadline did not act");
    }

    fn complete(&mut self) {
        let ticket = self.connection.protocol().and_then(|protocol| protocol.ticket);
        let waits = self.state == "Later";
        let Some(ticket) = ticket else { return };
        let mut asked = 0;
        let taken = self.connection.complete(ticket, self.now, |_| asked += 1);
        assert_eq!((taken, asked), if waits { (Ok(()), 1) } else { (Err(Late), 0) });
        if let Some(old) = self.old.replace(ticket) {
            assert_eq!(self.connection.complete(old, self.now, |_| panic!("not called")), Err(Late));
        }
    }

    fn nonsense(&mut self) {
        let before = format!("{:?}", self.connection);
        let now = self.now;
        self.connection.received(0, now);
        self.connection.transmitted(0, now);
        let action = self.connection.action();
        if action != Action::Receive {
            self.connection.received(usize::MAX, now);
            assert!(self.connection.receive_space().is_empty());
        }
        if self.connection.transmit().is_empty() {
            self.connection.transmitted(usize::MAX, now);
        }
        if action != Action::ShutdownWrite {
            self.connection.write_shut(now);
        }
        if self.connection.has_buffers() {
            self.connection.lend(Box::default(), now);
        }
        if !self.connection.owes_receive() {
            self.connection.drained(now);
        }
        assert_eq!(format!("{:?}", self.connection), before);
    }

    /// What was said up to now, without what came between replies.
    fn said(&self) -> Vec<u8> {
        let all = [&self.sent[..], self.connection.transmit()].concat();
        let mut said = Vec::new();
        let (mut bytes, mut pushes) = (all.iter().copied(), 0);
        while let Some(byte) = bytes.next() {
            match byte {
                _ if byte == TICK[0] => {
                    // The other half follows at once, or is still to be said.
                    assert!(matches!(bytes.next(), Some(next) if next == TICK[1]) || bytes.len() == 0);
                }
                _ if byte == PUSH[0] => {
                    let whole = bytes.next() == Some(PUSH[1]);
                    assert!(whole || self.cut.is_some(), "half of a push");
                    pushes += 1;
                }
                byte => said.push(byte),
            }
        }
        if self.cut.is_none() {
            assert_eq!(pushes, self.pushes);
        }
        said
    }

    fn check(&mut self) {
        let wants = self.connection.wants();
        let interest = match wants.waiting {
            Waiting::ForInput | Waiting::ForPeerEnd => Interest::Read,
            Waiting::ForRoom => Interest::Write,
            Waiting::ForAnswer | Waiting::ForBuffers | Waiting::ForShutdown | Waiting::Over => Interest::None,
        };
        assert_eq!(wants.interest, interest, "{wants:?}");
        assert_eq!(wants.action == Action::Send, !self.connection.transmit().is_empty());
        if let Action::Close(reason) = wants.action {
            assert!(wants.deadline.is_none() && self.connection.transmit().is_empty());
            assert!(self.connection.receive_space().is_empty());
            if let Some(cut) = self.cut {
                assert_eq!(reason, cut);
            }
        }
        if !self.is_closed() && wants.action != Action::Lend {
            assert!(self.connection.has_buffers() || matches!(wants.action, Action::Wait | Action::ShutdownWrite));
        }
        self.check_said(wants.action, wants.waiting);
    }

    /// What was said is a beginning of what the model says, and all of it where the connection waits for something
    /// else than room or buffers: nothing stands still.
    fn check_said(&mut self, action: Action, waiting: Waiting) {
        let behind = match (self.told_end, self.drained) {
            (true, _) => Behind::End,
            (false, true) => Behind::Drain,
            (false, false) => Behind::Open,
        };
        let answers = self.connection.protocol().map_or(&[][..], |protocol| &protocol.answers);
        let (expected, waits) = scripted(STRICT, N, &self.input[..self.received], behind, answers);
        let said = self.said();
        let show = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert!(expected.starts_with(&said), "{} is no beginning of {}", show(&said), show(&expected));
        let all = || assert_eq!(show(&said), show(&expected), "{action:?}");
        match (action, waiting) {
            (Action::Close(reason), _) if self.cut.is_none() => {
                all();
                assert_eq!(waits, Waits::Over(reason));
            }
            (Action::ShutdownWrite, _) | (_, Waiting::ForPeerEnd) if self.cut.is_none() => {
                all();
                assert!(matches!(waits, Waits::Over(_)), "{waits:?}");
            }
            (Action::Receive, Waiting::ForInput) => {
                all();
                assert!(waits == Waits::ForInput && !self.ended, "{waits:?}");
            }
            (Action::Wait, _) => {
                all();
                assert_eq!(waits, Waits::ForAnswer);
            }
            _ => {}
        }
    }

    /// Whatever was done, a driver that does what is wanted comes to the end.
    pub fn finish(mut self) -> BTreeSet<(String, String)> {
        for _ in 0..1_000 {
            let operation = match self.connection.action() {
                Action::Send => Operation::Send(usize::MAX),
                Action::Receive if self.state == "Lingering" || self.received == self.input.len() => Operation::End,
                Action::Receive => Operation::Receive(usize::MAX),
                Action::ShutdownWrite => Operation::WriteShut,
                Action::Lend => Operation::Lend,
                Action::Wait => Operation::Complete,
                Action::Close(_) => return self.changes,
            };
            // What a peer ended is not received from again.
            if self.ended && self.connection.action() == Action::Receive {
                assert_eq!(self.connection.wants().waiting, Waiting::ForPeerEnd);
                self.step(Operation::Pass(LIMITS.linger_ms));
                continue;
            }
            self.step(operation);
        }
        panic!("does not end: {:?}", self.connection.wants());
    }
}

mod random {
    use proptest::prelude::*;

    use super::{Operation, Run};
    use crate::framing::config;

    const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../proptest-regressions/programs.txt");

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            12 => (1usize..9).prop_map(Operation::Receive),
            12 => (1usize..9).prop_map(Operation::Send),
            1 => Just(Operation::End),
            4 => (0u32..12).prop_map(Operation::Pass),
            1 => (0u32..50).prop_map(Operation::Pass),
            3 => Just(Operation::Complete),
            3 => Just(Operation::Push),
            1 => Just(Operation::Drain),
            1 => Just(Operation::Drained),
            4 => Just(Operation::Lend),
            3 => Just(Operation::Reclaim),
            2 => Just(Operation::WriteShut),
            1 => Just(Operation::Nonsense),
        ]
    }

    fn input() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            3 => prop::sample::select(vec!["m\n", "l\n", "x\n", "t\n", "a\n", "\n"]).prop_map(str::to_owned),
            3 => prop::sample::select(vec!["m\r\n", "l\r\n", "x\r\n", "t\r\n", "a\r\n", "\r\n"]).prop_map(str::to_owned),
            2 => (0u8..10).prop_map(|n| format!("b{n}\r\n")),
            2 => (0u8..10).prop_map(|n| format!("s{n}\n")),
            1 => "[ab\r]{1,20}",
            1 => Just("q\r\n".to_owned()),
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes())
    }

    fn run<const STRICT: bool, const N: usize>(input: &[u8], operations: &[Operation]) {
        let mut run = Run::<STRICT, N>::new(input);
        for &operation in operations {
            run.step(operation);
        }
        run.finish();
    }

    proptest! {
        #![proptest_config(config(3000, SEEDS))]

        #[test]
        fn every_order_of_calls_is_harmless(
            input in input(),
            mut operations in prop::collection::vec(operation(), 0..80),
            end in prop_oneof![4 => Just(None), 1 => Just(Some(Operation::Fail)), 1 => Just(Some(Operation::Abandon))],
        ) {
            operations.extend(end);
            run::<false, 4>(&input, &operations);
            run::<false, 7>(&input, &operations);
            run::<true, 5>(&input, &operations);
            run::<true, 8>(&input, &operations);
        }
    }
}
