//! The command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use evserver_load::failure::Outcome;
use evserver_load::lines::{Alphabet, LINE_BYTES_MAX};
use evserver_load::progress::Progress;
use evserver_load::target::{PATIENCE, Target};
use evserver_load::{churn, hold, quiet, script, steady};

use crate::text::Report;

/// Nothing here runs longer: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// Puts load on a line server and checks every reply byte for byte.
///
/// Without --hold, --churn or --quiet-beside: a steady load. Exits with 1 at the first wrong byte.
#[derive(Debug, Parser)]
#[command(name = "evserver-load", version)]
pub struct Options {
    /// The server's address and port
    #[arg(value_name = "ADDR")]
    address: SocketAddr,
    /// Connections that send
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    connections: u64,
    /// Lines in flight on each connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    depth: u64,
    /// Bytes of a line without its LF
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u64).range(..=LINE_BYTES_MAX as u64))]
    line_bytes: u64,
    /// Seconds to measure (steady, --quiet-beside), or to hold before the probes (--hold: 0)
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// Stop after this many measured replies, if --seconds (60 then) are not over before
    #[arg(long, value_name = "N", conflicts_with_all = ["hold", "churn", "quiet_beside"])]
    replies: Option<u64>,
    /// Seconds of the same load before measuring
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = seconds)]
    warm_up: f64,
    /// A local address to connect from (repeatable); chosen where very many connections need it
    #[arg(long, value_name = "IPV4")]
    source: Vec<Ipv4Addr>,
    /// Seconds that nothing may move anywhere before the load fails
    #[arg(long, value_name = "S", default_value_t = PATIENCE.as_secs_f64(), value_parser = seconds)]
    patience: f64,
    /// The server's process: reports its CPU time and memory
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// How the server answers a line
    #[arg(long, value_enum, default_value_t = Mode::Numbered)]
    mode: Mode,
    /// An echo that says `ready` first; the numbered echo always does
    #[arg(long)]
    greeting: bool,
    /// Lines of all byte values, not only printable text
    #[arg(long)]
    binary: bool,
    /// More connections that only stay open
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["hold", "churn", "quiet_beside"])]
    idle: u64,
    /// All connections send together: a new round when all are answered
    #[arg(long, conflicts_with_all = ["hold", "churn", "quiet_beside"])]
    step: bool,
    /// Open N connections, a line on each, hold them, probe some, report memory
    #[arg(long, value_name = "N", conflicts_with_all = ["churn", "quiet_beside"])]
    hold: Option<u64>,
    /// Held connections to probe with a further line
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "hold")]
    probes: u64,
    /// Which connections are probed
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "hold")]
    seed: u64,
    /// N short connections: connect, greeting, a line, quit, end
    #[arg(long, value_name = "N", conflicts_with = "quiet_beside")]
    churn: Option<u64>,
    /// Short connections at the same time
    #[arg(long, value_name = "N", default_value_t = 64, requires = "churn", value_parser = clap::value_parser!(u64).range(1..))]
    concurrency: u64,
    /// How a short connection ends; half-close suits any echo
    #[arg(long, value_enum, default_value_t = End::Quit, requires = "churn")]
    end: End,
    /// One quiet client beside K that send and read as fast as they can
    #[arg(long, value_name = "K")]
    quiet_beside: Option<u64>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// `N: line`
    Numbered,
    /// the same bytes
    Echo,
    /// Redis: PING
    Ping,
    /// Redis: SET once on each connection, then GET
    Get,
}

impl From<Mode> for script::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Numbered => script::Mode::Numbered,
            Mode::Echo => script::Mode::Echo,
            Mode::Ping => script::Mode::Ping,
            Mode::Get => script::Mode::Get,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum End {
    /// the client says `quit`, the server ends
    Quit,
    /// the client ends its side, the server ends the rest
    HalfClose,
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if (0.0..=SECONDS_MAX).contains(&value) { Ok(value) } else { Err(format!("not within 0 and {SECONDS_MAX}")) }
}

impl Options {
    /// Does what is asked.
    pub fn run(&self, progress: &mut Progress) -> Outcome<Report> {
        let target = self.target();
        let warm_up = Duration::from_secs_f64(self.warm_up);
        let time = |default| Duration::from_secs_f64(self.seconds.unwrap_or(default));
        if let Some(connections) = self.hold {
            let plan = hold::Plan { connections, probes: self.probes, seed: self.seed, time: time(0.0) };
            return hold::run(&target, &plan, progress).map(Report::Hold);
        }
        if let Some(connections) = self.churn {
            let end = if self.end == End::Quit { churn::End::Quit } else { churn::End::HalfClose };
            let plan = churn::Plan { connections, concurrency: self.concurrency, end };
            return churn::run(&target, &plan, progress).map(Report::Churn);
        }
        if let Some(flooders) = self.quiet_beside {
            let plan = quiet::Plan { flooders, time: time(5.0), warm_up };
            return quiet::run(&target, &plan, progress).map(Report::Quiet);
        }
        let plan = steady::Plan {
            connections: self.connections,
            depth: self.depth,
            idle: self.idle,
            time: time(if self.replies.is_some() { 60.0 } else { 5.0 }),
            replies: self.replies,
            warm_up,
            in_step: self.step,
        };
        steady::run(&target, &plan, progress).map(Report::Steady)
    }

    fn target(&self) -> Target {
        Target {
            address: self.address,
            pid: self.pid,
            mode: self.mode.into(),
            greeting: self.greeting,
            line_bytes: self.line_bytes as usize,
            alphabet: if self.binary { Alphabet::Binary } else { Alphabet::Text },
            patience: Duration::from_secs_f64(self.patience),
            sources: self.source.clone(),
        }
    }
}
