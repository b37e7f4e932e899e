//! Counts a server's system calls, by running it under `strace -c`.
//!
//! strace counts from the server's start to its end. Two runs that differ only in how much is done give what each
//! thing takes, whatever starting, opening and ending cost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use evserver_load::cpus::Cpus;
use evserver_load::failure::{Failure, Outcome};
use evserver_load::server::Server;
use evserver_load::target::Target;

/// How long strace may take to write its table after the server's end.
const TABLE_MAX: Duration = Duration::from_secs(20);

/// Between two looks at whether it has.
const LOOK: Duration = Duration::from_millis(5);

/// Fewer calls of a name for each thing are chance: a timer that moved, a wait more.
const CHANCE_MAX: f64 = 0.005;

/// How often each system call was made.
type Counts = BTreeMap<String, u64>;

/// System calls for each thing that was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// All of them.
    pub total: f64,
    /// By name, the most frequent first.
    pub by_name: Vec<(String, f64)>,
}

/// System calls for each of the things that `load` does; it is called with less to do, then with more, and says how
/// many things the server did in its whole life.
pub fn each(server: &Server, cpus: Cpus, load: impl Fn(&Target, Amount) -> Outcome<u64>) -> Outcome<Each> {
    let few = whole_life(server, cpus, |target| load(target, Amount::Less))?;
    let many = whole_life(server, cpus, |target| load(target, Amount::More))?;
    difference(few, many).ok_or_else(|| Failure::Refused("no more was done in the larger of two runs".into()))
}

/// Which of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// The shorter one.
    Less,
    /// The longer one.
    More,
}

fn difference((few, done_few): (Counts, u64), (many, done_many): (Counts, u64)) -> Option<Each> {
    let done = done_many.checked_sub(done_few).filter(|done| *done > 0)? as f64;
    let before = |name| few.get(name).copied().unwrap_or(0) as f64;
    let mut by_name: Vec<_> =
        many.iter().map(|(name, &count)| (name, (count as f64 - before(name)) / done)).collect();
    let total = by_name.iter().map(|(_, each)| each).sum();
    by_name.retain(|(_, each)| *each >= CHANCE_MAX);
    by_name.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    Some(Each { total, by_name: by_name.into_iter().map(|(name, each)| (name.clone(), each)).collect() })
}

/// Runs the server, the load and the server's end; its calls, and what `load` says.
fn whole_life(server: &Server, cpus: Cpus, load: impl FnOnce(&Target) -> Outcome<u64>) -> Outcome<(Counts, u64)> {
    let table = Table(std::env::temp_dir().join(format!("evserver-compare-{}.strace", process::id())));
    let mut traced = server.clone();
    // -D: strace is beside the server and not above it, so that the process that is started is the server itself.
    let strace = ["strace", "-D", "-f", "-qq", "-c", "-o"].map(String::from);
    traced.command = strace.into_iter().chain([table.0.display().to_string()]).chain(traced.command).collect();
    let running = traced.start(cpus)?;
    let done = load(&running.target)?;
    running.stop()?;
    Ok((table.read()?, done))
}

/// The file that strace writes; removed with this value.
struct Table(PathBuf);

impl Table {
    /// Waits until strace has written it.
    fn read(&self) -> Outcome<Counts> {
        let asked = Instant::now();
        loop {
            let text = fs::read_to_string(&self.0).unwrap_or_default();
            if let Some(counts) = parse(&text) {
                return Ok(counts);
            }
            if asked.elapsed() >= TABLE_MAX {
                return Err(Failure::Refused(format!("strace wrote no whole table to {}", self.path().display())));
            }
            thread::sleep(LOOK);
        }
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // A temporary file that cannot be removed is no reason to fail.
        let _ = fs::remove_file(&self.0);
    }
}

/// A table whose last line, that of the total, is there.
///
/// `% time, seconds, usecs/call, calls, errors, syscall`; the column of errors is empty for most.
fn parse(text: &str) -> Option<Counts> {
    let mut rows = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((words.last()?.to_string(), words.get(3)?.parse().ok()?))
    });
    let mut counts = Counts::new();
    loop {
        match rows.next()? {
            (name, _) if name == "total" => return Some(counts),
            (name, count) => counts.insert(name, count),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000600           6       100         3 recvfrom
 40.00    0.000400           4        97           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           5       197         3 total
";

    #[test]
    fn a_table_is_read_once_it_is_whole() {
        let counts = parse(TABLE).unwrap();
        assert_eq!(counts, Counts::from([("recvfrom".into(), 100), ("sendto".into(), 97)]));
        let (cut, _) = TABLE.rsplit_once("100.00").unwrap();
        assert_eq!(parse(cut), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn what_both_runs_have_is_not_counted() {
        let few = Counts::from([("recvfrom".into(), 110), ("brk".into(), 5), ("sendto".into(), 100)]);
        let many = Counts::from([("recvfrom".into(), 1110), ("brk".into(), 5), ("sendto".into(), 2100)]);
        let each = difference((few.clone(), 100), (many, 1100)).unwrap();
        assert_eq!(each.by_name, [("sendto".into(), 2.0), ("recvfrom".into(), 1.0)]);
        assert_eq!(each.total, 3.0);
        assert_eq!(difference((few.clone(), 100), (few, 100)), None);
    }
}
