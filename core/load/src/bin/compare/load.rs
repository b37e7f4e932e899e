//! What is done to a server, and so which figure comes of it.

/// A request to a server that speaks Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `PING`
    Ping,
    /// `GET` of a key that is there
    Get,
}

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Lines in flight on connections: CPU a reply.
    Steady { connections: u64, depth: u64, idle: u64 },
    /// The same with requests of Redis.
    Resp { connections: u64, depth: u64, request: Request },
    /// Lines on connections that all send together: system calls a reply.
    CallsAReply { connections: u64 },
    /// Short connections one after the other: system calls of each.
    CallsAConnection,
    /// Short connections: how many a second, or the CPU of each.
    Churn { connections: u64, concurrency: u64, cpu: bool },
    /// Short connections: memory after them, as a part of the memory before.
    ///
    /// Before is after a twentieth as many with the same number at a time: by then the tables have their size.
    AfterChurn { connections: u64, concurrency: u64 },
    /// A quiet client beside flooding ones: its 99th percentile.
    Quiet { flooders: u64 },
    /// Connections that only stay open: memory of each.
    Memory { connections: u64 },
    /// The same: how many are held, each answered.
    Held { connections: u64 },
    /// The same in a guest, where a process may have as many as there is memory for.
    Guest { connections: u64 },
    /// No server and no socket: the core's throughput for that of a loop written by hand.
    Framing { line_bytes: usize },
}

/// A smoke run divides what takes long by so much.
const QUICK: u64 = 20;

impl Load {
    /// What the figure counts.
    pub fn unit(self) -> &'static str {
        match self {
            Load::Steady { .. } => "ns of server CPU a reply",
            Load::Resp { .. } => "ns of server CPU a request",
            Load::CallsAReply { .. } => "system calls a reply",
            Load::CallsAConnection => "system calls a connection",
            Load::Churn { cpu: false, .. } => "connections a second",
            Load::Churn { cpu: true, .. } => "ns of server CPU a connection",
            Load::AfterChurn { .. } => "memory after, of before",
            Load::Quiet { .. } => "ms at p99",
            Load::Memory { .. } | Load::Guest { .. } => "bytes of user memory a connection",
            Load::Held { .. } => "connections held, each answered",
            Load::Framing { .. } => "bytes a second, for those of a loop written by hand",
        }
    }

    /// Places after the point that mean something.
    pub fn places(self) -> usize {
        match self {
            Load::Churn { .. } | Load::Held { .. } => 0,
            Load::Steady { .. } | Load::Resp { .. } | Load::Memory { .. } | Load::Guest { .. } => 1,
            Load::Quiet { .. }
            | Load::AfterChurn { .. }
            | Load::CallsAReply { .. }
            | Load::CallsAConnection
            | Load::Framing { .. } => 3,
        }
    }

    /// Whether one round says it: a count that other work on the machine does not change, or a figure that is the
    /// median of rounds by itself.
    pub fn is_said_once(self) -> bool {
        match self {
            Load::CallsAReply { .. } | Load::CallsAConnection | Load::AfterChurn { .. } | Load::Held { .. } => true,
            Load::Framing { .. } | Load::Guest { .. } => true,
            Load::Steady { .. } | Load::Resp { .. } | Load::Churn { .. } => false,
            Load::Quiet { .. } | Load::Memory { .. } => false,
        }
    }

    /// A program that it needs.
    pub fn needs(self) -> Option<&'static str> {
        matches!(self, Load::CallsAReply { .. } | Load::CallsAConnection).then_some("strace")
    }

    /// The same for a smoke run: less of what takes long.
    pub fn quick(self) -> Self {
        match self {
            Load::Steady { connections, depth, idle } => Load::Steady { connections, depth, idle: idle / QUICK },
            Load::Churn { connections, concurrency, cpu } => {
                Load::Churn { connections: connections / QUICK, concurrency, cpu }
            }
            Load::AfterChurn { connections, concurrency } => {
                Load::AfterChurn { connections: connections / QUICK, concurrency }
            }
            Load::Memory { connections } => Load::Memory { connections: connections / QUICK },
            Load::Held { connections } => Load::Held { connections: connections / QUICK },
            Load::Resp { .. } | Load::CallsAReply { .. } | Load::CallsAConnection => self,
            Load::Quiet { .. } | Load::Framing { .. } | Load::Guest { .. } => self,
        }
    }
}
