//! The figures: each a named case with what it is to reach. A new one is a new entry in [`ROWS`].

/// A part that a server plays; the command line says which program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The server that is judged.
    Subject,
    /// The bare loop.
    Yardstick,
    /// A tokio server with LinesCodec.
    Tokio,
}

impl Role {
    /// Its name in tables, and the option that names its command.
    pub fn name(self) -> &'static str {
        match self {
            Role::Subject => "subject",
            Role::Yardstick => "yardstick",
            Role::Tokio => "tokio",
        }
    }
}

/// What is done to a server, and so which figure comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Lines in flight on connections: CPU a reply.
    Steady { connections: u64, depth: u64, idle: u64 },
    /// Short connections: how many a second, or the CPU of each.
    Churn { connections: u64, concurrency: u64, cpu: bool },
    /// A quiet client beside flooding ones: its 99th percentile.
    Quiet { flooders: u64 },
    /// Connections that only stay open: memory of each.
    Hold { connections: u64 },
}

impl Load {
    /// What the figure counts.
    pub fn unit(self) -> &'static str {
        match self {
            Load::Steady { .. } => "ns of server CPU a reply",
            Load::Churn { cpu: false, .. } => "connections a second",
            Load::Churn { cpu: true, .. } => "ns of server CPU a connection",
            Load::Quiet { .. } => "ms at p99",
            Load::Hold { .. } => "bytes of user memory a connection",
        }
    }

    /// Places after the point that mean something.
    pub fn places(self) -> usize {
        match self {
            Load::Churn { .. } => 0,
            Load::Steady { .. } | Load::Hold { .. } => 1,
            Load::Quiet { .. } => 3,
        }
    }
}

/// What a figure is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Subject for reference, less is better.
    RatioAtMost(f64),
    /// Subject for reference, more is better.
    RatioAtLeast(f64),
    /// The subject's figure itself, less is better.
    AtMost(f64),
}

impl Goal {
    /// The bound.
    pub fn bound(self) -> f64 {
        match self {
            Goal::RatioAtMost(bound) | Goal::RatioAtLeast(bound) | Goal::AtMost(bound) => bound,
        }
    }

    /// Whether `value` is on the right side of it.
    pub fn is_reached_by(self, value: f64) -> bool {
        match self {
            Goal::RatioAtMost(bound) | Goal::AtMost(bound) => value <= bound,
            Goal::RatioAtLeast(bound) => value >= bound,
        }
    }
}

/// A server in a part, under a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Which server.
    pub role: Role,
    /// What is done to it.
    pub load: Load,
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// For `--only`.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    /// The server that is judged.
    pub subject: Side,
    /// What it is judged against; none for a goal that is no ratio.
    pub reference: Option<Side>,
    /// What it is to reach.
    pub goal: Goal,
}

/// The same load on the subject and on another server.
const fn against(role: Role, name: &'static str, what: &'static str, load: Load, goal: Goal) -> Row {
    Row { name, what, subject: Side { role: Role::Subject, load }, reference: Some(Side { role, load }), goal }
}

/// The subject by itself.
const fn alone(name: &'static str, what: &'static str, load: Load, bound: f64) -> Row {
    let subject = Side { role: Role::Subject, load };
    Row { name, what, subject, reference: None, goal: Goal::AtMost(bound) }
}

const fn steady(connections: u64, depth: u64, idle: u64) -> Load {
    Load::Steady { connections, depth, idle }
}

/// Everything that can be compared.
pub const ROWS: &[Row] = &[
    against(
        Role::Yardstick,
        "64x1",
        "64 connections, one line in flight",
        steady(64, 1, 0),
        Goal::RatioAtMost(1.03),
    ),
    against(Role::Yardstick, "64x16", "64 connections, 16 in flight", steady(64, 16, 0), Goal::RatioAtMost(1.08)),
    against(Role::Yardstick, "64x64", "64 connections, 64 in flight", steady(64, 64, 0), Goal::RatioAtMost(1.20)),
    against(
        Role::Yardstick,
        "1000x1",
        "1,000 connections, one in flight",
        steady(1000, 1, 0),
        Goal::RatioAtMost(1.05),
    ),
    against(
        Role::Yardstick,
        "64x1-idle-10000",
        "64 connections, one in flight, 10,000 idle beside",
        steady(64, 1, 10_000),
        Goal::RatioAtMost(1.03),
    ),
    Row {
        name: "idle-cost",
        what: "64 × 1 with 10,000 idle beside, against 64 × 1 without",
        subject: Side { role: Role::Subject, load: steady(64, 1, 10_000) },
        reference: Some(Side { role: Role::Subject, load: steady(64, 1, 0) }),
        goal: Goal::RatioAtMost(1.03),
    },
    against(
        Role::Yardstick,
        "accept-rate",
        "short connections: greeting, one line, end",
        Load::Churn { connections: 20_000, concurrency: 64, cpu: false },
        Goal::RatioAtLeast(0.9),
    ),
    // The load generator limits the rate as long as a client's connect costs more than a server's accept; this is
    // the same goal where the server would be the limit: 1 / 0.9.
    against(
        Role::Yardstick,
        "accept-cpu",
        "short connections: greeting, one line, end",
        Load::Churn { connections: 20_000, concurrency: 64, cpu: true },
        Goal::RatioAtMost(1.11),
    ),
    alone("quiet-beside-3", "a quiet client beside three flooders", Load::Quiet { flooders: 3 }, 10.0),
    alone("memory-10000", "10,000 idle connections", Load::Hold { connections: 10_000 }, 192.0),
    alone("memory-19000", "19,000 idle connections", Load::Hold { connections: 19_000 }, 192.0),
    against(Role::Tokio, "tokio-64x1", "64 connections, one in flight", steady(64, 1, 0), Goal::RatioAtMost(0.95)),
    against(Role::Tokio, "tokio-64x16", "64 connections, 16 in flight", steady(64, 16, 0), Goal::RatioAtMost(0.70)),
    against(Role::Tokio, "tokio-64x64", "64 connections, 64 in flight", steady(64, 64, 0), Goal::RatioAtMost(0.50)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_ratios_have_a_reference() {
        for (index, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..index].iter().all(|other| other.name != row.name), "{} occurs twice", row.name);
            assert_eq!(row.reference.is_none(), matches!(row.goal, Goal::AtMost(_)), "{}", row.name);
            if let Some(reference) = row.reference {
                assert_eq!(row.subject.load.unit(), reference.load.unit(), "{}", row.name);
            }
        }
    }

    #[test]
    fn goals_are_reached_from_the_right_side() {
        assert!(Goal::RatioAtMost(1.03).is_reached_by(1.03) && !Goal::RatioAtMost(1.03).is_reached_by(1.04));
        assert!(Goal::RatioAtLeast(0.9).is_reached_by(0.9) && !Goal::RatioAtLeast(0.9).is_reached_by(0.89));
        assert!(Goal::AtMost(192.0).is_reached_by(0.0) && !Goal::AtMost(192.0).is_reached_by(192.5));
    }
}
