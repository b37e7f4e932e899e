//! The command line, and the run that it asks for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser;
use evserver_load::cpus::Cpus;
use evserver_load::failure::{Failure, Outcome};
use evserver_load::progress::Progress;
use evserver_load::server::beside;
use evserver_load::system::allow_connections;

use crate::contestant::{Contestant, EPOLL_SHELL, POLL, THREADS_SHELL, TOKIO, YARDSTICK};
use crate::data::{Data, Series};
use crate::plots;
use crate::sweep::{ACTIVE_LOAD, HELD_LOAD, IDLE_LOAD, Rounds, sweep};
use crate::tables;

/// Makes the tables and plots: the whole comparison, then CPU and memory over the number of connections
///
/// The servers are the programs beside this one; one that is not built is left out, and that is said. Written to the folder:
/// comparison.md, sweeps.md, cpu.svg, memory.svg, and sweeps.json, from which --draw makes the last three again.
#[derive(Debug, Parser)]
#[command(name = "evserver-figures", version)]
pub struct Options {
    /// The folder to write to
    #[arg(long, value_name = "FOLDER", default_value = "core/load/figures")]
    out: PathBuf,
    /// See that everything works, in a minute: few connections, short rounds; the figures say nothing
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if anything is left out
    #[arg(long, conflicts_with = "draw")]
    all: bool,
    /// For the comparison: holds a million connections in a guest, which takes ten minutes: core/load/guest/run
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["draw", "sweeps_only"])]
    guest: Option<String>,
    /// Leave out the comparison
    #[arg(long)]
    sweeps_only: bool,
    /// Measure nothing: draw what sweeps.json in the folder has
    #[arg(long, conflicts_with_all = ["quick", "sweeps_only"])]
    draw: bool,
    /// Rounds for each server and size
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

/// What a sweep goes through. The largest is what fits beside 64 active ones into 20,000 descriptors.
const ACTIVE_SIZES: &[u64] = &[1, 10, 100, 1000];
const SIZES: &[u64] = &[1, 10, 100, 1000, 10_000, 19_000];

/// The same in a smoke run.
const QUICK_SIZES: &[u64] = &[1, 10, 100];

/// What a round measures.
const TIME: Duration = Duration::from_secs(1);
const QUICK_TIME: Duration = Duration::from_millis(50);

/// The servers over active connections, and in memory.
const SERVERS: &[Contestant] = &[EPOLL_SHELL, THREADS_SHELL, TOKIO, YARDSTICK];
/// Over idle connections.
const WITH_POLL: &[Contestant] = &[EPOLL_SHELL, THREADS_SHELL, TOKIO, YARDSTICK, POLL];

impl Options {
    /// Does what is asked; whether all of it worked.
    pub fn run(&self) -> Outcome<bool> {
        fs::create_dir_all(&self.out).map_err(|error| failed(&self.out, error))?;
        let kept = self.out.join("sweeps.json");
        if self.draw {
            let text = fs::read_to_string(&kept).map_err(|error| failed(&kept, error))?;
            let data = serde_json::from_str(&text).map_err(|error| failed(&kept, error.into()))?;
            return self.draw(&data).map(|()| true);
        }
        // Servers inherit the limit; one that does not raise it itself must not be at a disadvantage.
        let sizes = if self.quick { QUICK_SIZES } else { SIZES };
        allow_connections(sizes.iter().max().copied().unwrap_or(0) + 100)?;
        let worked = self.sweeps_only || self.compare()?;
        let data = self.measure()?;
        self.write("sweeps.json", &format!("{:#}\n", serde_json::json!(data)))?;
        self.draw(&data)?;
        let has_points = |series: &Series<f64>| !series.points.is_empty();
        let series = &data.idle.series;
        let complete = if self.all { series.iter().all(has_points) } else { series.iter().any(has_points) };
        Ok(worked && complete)
    }

    /// The whole comparison, by the program for that: whether every row that was tried has a figure.
    fn compare(&self) -> Outcome<bool> {
        let program = beside("evserver-compare").map_err(Failure::Refused)?;
        let output = Command::new(&program)
            .args(self.quick.then_some("--quick"))
            .args(self.all.then_some("--all"))
            .args(self.guest.iter().flat_map(|command| ["--guest", command]))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| failed(&program, error))?;
        self.write("comparison.md", &String::from_utf8_lossy(&output.stdout))?;
        Ok(output.status.success())
    }

    fn measure(&self) -> Outcome<Data> {
        let (count, time) = if self.quick { (1, QUICK_TIME) } else { (self.rounds, TIME) };
        let rounds = Rounds { count, time, cpus: Cpus::choose()? };
        let (active, sizes) = if self.quick { (QUICK_SIZES, QUICK_SIZES) } else { (ACTIVE_SIZES, SIZES) };
        let progress = &mut Progress::start();
        Ok(Data {
            how: how(rounds, self.quick),
            active: sweep(&ACTIVE_LOAD, SERVERS, active, rounds, progress),
            idle: sweep(&IDLE_LOAD, WITH_POLL, sizes, rounds, progress),
            held: sweep(&HELD_LOAD, SERVERS, sizes, rounds, progress),
        })
    }

    fn draw(&self, data: &Data) -> Outcome<()> {
        self.write("cpu.svg", &plots::cpu(data))?;
        self.write("memory.svg", &plots::memory(data))?;
        self.write("sweeps.md", &tables::markdown(data))
    }

    fn write(&self, name: &str, text: &str) -> Outcome<()> {
        let path = self.out.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))
    }
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    Failure::io(path.display().to_string(), error)
}

/// Where and how it was measured.
fn how(rounds: Rounds, quick: bool) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let model = read("/proc/cpuinfo");
    let model = model.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unnamed processor", |(_, name)| name);
    let kernel = read("/proc/sys/kernel/osrelease");
    let smoke = if quick { "A smoke run: the figures say nothing. " } else { "" };
    format!(
        "{smoke}Linux {}, {model}; server on processor {}, load on processor {}; of {} rounds of {:.1} s the one in the middle.",
        kernel.trim(),
        rounds.cpus.server,
        rounds.cpus.load,
        rounds.count,
        rounds.time.as_secs_f64()
    )
}
