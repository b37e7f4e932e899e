//! What a seed decides before anything happens, and what of it can be left away.

use evserver_core::{Limits, Settings};

use crate::agent::Kind;
use crate::random::Random;

/// A fault of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Calls are interrupted by signals.
    Interrupts,
    /// Transfers move less than they could.
    ShortTransfers,
    /// The poller reports what is not so, reports late, or names a client that left.
    Lies,
    /// The process is stopped for up to a minute, also in the middle of a turn.
    Stops,
    /// Descriptors or memory run out while accepting.
    Exhaustion,
    /// Clients are gone when they are accepted.
    Aborts,
    /// The poller cannot watch a client.
    WatchFailures,
    /// Protocols panic.
    Panics,
    /// There are few pairs of buffers.
    FewBuffers,
    /// There are few slots.
    FewSlots,
}

impl Fault {
    pub const ALL: [Self; 10] = [
        Self::Interrupts,
        Self::ShortTransfers,
        Self::Lies,
        Self::Stops,
        Self::Exhaustion,
        Self::Aborts,
        Self::WatchFailures,
        Self::Panics,
        Self::FewBuffers,
        Self::FewSlots,
    ];
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a signal once most clients are done.
    Late,
    /// By a signal in the middle.
    Early,
    /// By a second signal: everything is dropped.
    AtOnce,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    /// Bytes of a buffer; one of the sizes that `run` knows.
    pub buffer_bytes: usize,
    pub settings: Settings,
    pub clients: usize,
    /// One for each client, or what to choose from.
    pub kinds: Vec<Kind>,
    pub faults: Vec<Fault>,
    /// Milliseconds within which the clients come.
    pub arrival_ms: u64,
    /// Where the clock begins.
    pub origin_ms: u64,
    pub listeners: usize,
    /// Events that one wait reports.
    pub events_in_a_turn: usize,
    /// Pairs of buffers, if they are few.
    pub pairs: Option<usize>,
    /// Slots, if they are few.
    pub slots: Option<u32>,
    /// Descriptors of clients that can be open at one time.
    pub descriptors: Option<usize>,
    /// The most bytes that a pipe between client and server holds.
    pub pipe_bytes: u64,
    /// They all hold so much.
    pub wide_pipes: bool,
    /// Bytes that one flooding client sends.
    pub flood_bytes: u64,
    /// Turns of the loop in a thousand in which somebody is pushed to.
    pub pushes: u64,
    pub ending: Ending,
}

impl Scenario {
    /// `traffic_bytes` is about what all clients together send in floods.
    pub fn from_seed(seed: u64, traffic_bytes: u64) -> Self {
        let random = &mut Random::new(seed);
        // Most runs have a few faults, some have none, some all.
        let often = random.pick(&[0, 100, 300, 1000]);
        let faults: Vec<Fault> = Fault::ALL.into_iter().filter(|_| random.per_mille(often)).collect();
        let kinds: Vec<Kind> = match random.below(3) {
            0 => Kind::ALL.to_vec(),
            _ => Kind::ALL.into_iter().filter(|_| random.one_in(2)).chain([Kind::Polite]).collect(),
        };
        let has = |fault| faults.contains(&fault);
        let idle_ms = random.pick(&[300, 1_000, 5_000, 30_000]);
        let settings = Settings {
            limits: Limits {
                idle_ms,
                line_ms: random.pick(&[0, 0, idle_ms / 2, idle_ms * 2]),
                linger_ms: random.pick(&[2_000, 2_000, 50]),
            },
            max_connections: random.pick(&[None, None, Some(1), Some(20), Some(200)]),
            drain_ms: random.pick(&[0, 50, 5_000, 60_000]),
            edge_triggered: random.one_in(2),
        };
        let clients = random.pick(&[3, 20, 20, 200, 200, 1_000, 3_000]);
        Self {
            seed,
            buffer_bytes: random.pick(&[16, 64, 512, 4096]),
            clients,
            arrival_ms: random.pick(&[0, 10, 1_000, 20_000]),
            origin_ms: random.pick(&[0, 1, 123_456_789, 1 << 45]),
            listeners: random.pick(&[1, 1, 2]),
            // Few for few clients, or there would be millions of turns.
            events_in_a_turn: random.pick(&[256, 256, 256, 5, if clients > 200 { 64 } else { 1 }]),
            pairs: has(Fault::FewBuffers).then(|| random.within(1, 20) as usize),
            slots: has(Fault::FewSlots).then(|| random.within(1, 40) as u32),
            descriptors: has(Fault::Exhaustion).then(|| random.within(2, 60) as usize),
            pipe_bytes: random.pick(&[8, 300, 20_000, 100_000]),
            wide_pipes: random.one_in(3),
            flood_bytes: random.pick(&[5_000, 300_000, 300_000]).min(traffic_bytes / clients as u64),
            pushes: random.pick(&[0, 0, 10, 300]),
            ending: random.pick(&[Ending::Late, Ending::Late, Ending::Early, Ending::Early, Ending::AtOnce]),
            settings,
            kinds,
            faults,
        }
    }

    /// Quiet clients beside some that send as much as they can, to a server without faults.
    pub fn with_floods(seed: u64, quiet: usize, floods: usize, edge_triggered: bool) -> Self {
        let kinds: Vec<Kind> =
            std::iter::repeat_n(Kind::Polite, quiet).chain(std::iter::repeat_n(Kind::Flooder, floods)).collect();
        Self {
            seed,
            buffer_bytes: 4096,
            settings: Settings { limits: Limits::new(), max_connections: None, drain_ms: 5_000, edge_triggered },
            clients: kinds.len(),
            kinds,
            faults: Vec::new(),
            arrival_ms: 10,
            origin_ms: 0,
            listeners: 1,
            events_in_a_turn: 256,
            pairs: None,
            slots: None,
            descriptors: None,
            pipe_bytes: 200_000,
            wide_pipes: true,
            flood_bytes: 3_000_000,
            pushes: 500,
            ending: Ending::Late,
        }
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// The same run with less in it, each with the words that ask for it.
    pub fn smaller(&self) -> Vec<(String, Self)> {
        let mut all = Vec::new();
        for clients in [1, self.clients / 4, self.clients / 2, self.clients - 1] {
            if clients > 0 && clients < self.clients {
                all.push((format!("clients={clients}"), Self { clients, ..self.clone() }));
            }
        }
        for &fault in &self.faults {
            let mut smaller = self.clone();
            smaller.faults.retain(|&other| other != fault);
            match fault {
                Fault::FewBuffers => smaller.pairs = None,
                Fault::FewSlots => smaller.slots = None,
                Fault::Exhaustion => smaller.descriptors = None,
                _ => {}
            }
            all.push((format!("without={fault:?}"), smaller));
        }
        for &kind in &self.kinds {
            let kinds: Vec<Kind> = self.kinds.iter().copied().filter(|&other| other != kind).collect();
            if !kinds.is_empty() {
                all.push((format!("without={kind:?}"), Self { kinds, ..self.clone() }));
            }
        }
        all
    }

    /// Leaves away what the words say: those of [`smaller`](Self::smaller), separated by commas.
    pub fn shrunk(mut self, words: &str) -> Self {
        for word in words.split(',').filter(|word| !word.is_empty()) {
            let smaller = self.smaller().into_iter().find(|(name, _)| name == word);
            self = match (smaller, word.strip_prefix("clients=")) {
                (Some((_, smaller)), _) => smaller,
                (None, Some(number)) => Self { clients: number.parse().expect("a number of clients"), ..self },
                (None, None) => panic!("not in this run: {word}"),
            };
        }
        self
    }
}
