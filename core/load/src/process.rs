//! What a server costs, seen from outside: its CPU time and memory.

use std::fs;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// The CPU time of a process.
///
/// clock_getcpuclockid(3): in nanoseconds, and with the threads that have ended. /proc/PID/stat has it in hundredths
/// of a second, and /proc/PID/task/*/schedstat forgets ended threads, which a server with one a client has plenty of.
#[derive(Clone, Copy, Debug)]
pub struct CpuClock {
    clock: ClockId,
}

impl CpuClock {
    /// The clock of process `pid`.
    pub fn of(pid: u32) -> Outcome<Self> {
        let clock = clock_getcpuclockid(Pid::from_raw(pid as i32))
            .map_err(|error| Failure::io(format!("cannot read the CPU time of process {pid}"), error))?;
        Ok(CpuClock { clock })
    }

    /// The clock of this process.
    pub fn own() -> Self {
        CpuClock { clock: ClockId::CLOCK_PROCESS_CPUTIME_ID }
    }

    /// User and system time so far.
    pub fn read(&self) -> Outcome<Duration> {
        let time = clock_gettime(self.clock)
            .map_err(|error| Failure::io("cannot read the CPU time of a process", error))?;
        Ok(Duration::new(time.tv_sec() as u64, time.tv_nsec() as u32))
    }
}

/// How long the threads of process `pid` were ready to run and had no processor, as far as they live; none where the
/// kernel does not count it.
///
/// proc_pid_schedstat(5): the second number, in nanoseconds.
pub fn waited(pid: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    // A thread may end between the two readings.
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok());
    let times: Vec<u64> = texts.filter_map(|text| text.split_whitespace().nth(1)?.parse().ok()).collect();
    (!times.is_empty()).then(|| Duration::from_nanos(times.iter().sum()))
}

/// CPU time of a process, and the time that it waited for a processor.
#[derive(Clone, Copy, Debug)]
struct Usage {
    cpu: Duration,
    waited: Option<Duration>,
}

impl Usage {
    fn read(clock: CpuClock, pid: u32) -> Outcome<Self> {
        Ok(Usage { cpu: clock.read()?, waited: waited(pid) })
    }

    fn since(self, before: Usage) -> Usage {
        let waited = self.waited.zip(before.waited).map(|(now, before)| now.saturating_sub(before));
        Usage { cpu: self.cpu.saturating_sub(before.cpu), waited }
    }
}

/// A stretch of time, with what the server and this process use in it.
#[derive(Debug)]
pub struct Stretch {
    server: Option<(CpuClock, u32, Usage)>,
    own: Usage,
    start: Instant,
}

/// What a stretch of time took.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Time on the wall.
    pub wall: Duration,
    /// CPU time of the server, if its process is known.
    pub server: Option<Duration>,
    /// CPU time of this process.
    pub own: Duration,
    /// Shares of a processor.
    pub shares: Shares,
}

/// Parts of one processor's time; what is not known is missing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// That the server used.
    pub server_cpu_share: Option<f64>,
    /// That the server would have used, had its processor been free: near 0 on a machine without other work.
    pub server_waited_share: Option<f64>,
    /// That the load generator used; near 1, it is the limit.
    pub load_cpu_share: f64,
    /// That the load generator would have used.
    pub load_waited_share: Option<f64>,
}

impl Stretch {
    /// Starts now.
    pub fn start(pid: Option<u32>) -> Outcome<Self> {
        let server = match pid {
            Some(pid) => {
                let clock = CpuClock::of(pid)?;
                Some((clock, pid, Usage::read(clock, pid)?))
            }
            None => None,
        };
        let own = Usage::read(CpuClock::own(), std::process::id())?;
        Ok(Stretch { server, own, start: Instant::now() })
    }

    /// What was spent since the start.
    pub fn spent(&self) -> Outcome<Spent> {
        let wall = self.start.elapsed();
        let server = match self.server {
            Some((clock, pid, before)) => Some(Usage::read(clock, pid)?.since(before)),
            None => None,
        };
        let own = Usage::read(CpuClock::own(), std::process::id())?.since(self.own);
        let share = |time: Duration| time.as_secs_f64() / wall.as_secs_f64();
        let shares = Shares {
            server_cpu_share: server.map(|usage| share(usage.cpu)),
            server_waited_share: server.and_then(|usage| usage.waited).map(share),
            load_cpu_share: share(own.cpu),
            load_waited_share: own.waited.map(share),
        };
        Ok(Spent { wall, server: server.map(|usage| usage.cpu), own: own.cpu, shares })
    }
}

impl Spent {
    /// Nanoseconds of the server's CPU for each of `count` things.
    pub fn server_ns_each(&self, count: u64) -> Option<f64> {
        (count > 0).then(|| self.server.map(|server| server.as_nanos() as f64 / count as f64)).flatten()
    }

    /// Things a second.
    pub fn rate(&self, count: u64) -> f64 {
        count as f64 / self.wall.as_secs_f64()
    }
}

/// A process's memory in user space, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All resident pages.
    pub rss: u64,
    /// Resident pages that no other process shares.
    pub private: u64,
    /// Resident pages that no file backs: heap and stacks.
    pub anonymous: u64,
}

impl Memory {
    /// The memory of process `pid`, from /proc/PID/smaps_rollup.
    pub fn of(pid: u32) -> Outcome<Self> {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(&path).map_err(|error| Failure::io(&path, error))?;
        Memory::parse(&text).ok_or_else(|| Failure::Refused(format!("{path} has not the fields that are needed")))
    }

    fn parse(text: &str) -> Option<Self> {
        Some(Memory {
            rss: kilobytes(text, "Rss:")?,
            private: kilobytes(text, "Private_Clean:")? + kilobytes(text, "Private_Dirty:")?,
            anonymous: kilobytes(text, "Anonymous:")?,
        })
    }
}

/// The field `name` of a /proc text whose values are in kB, in bytes.
pub(crate) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let value: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(value * 1024)
}

/// Descriptors that process `pid` has open.
pub fn descriptors(pid: u32) -> Outcome<u64> {
    let path = format!("/proc/{pid}/fd");
    let failed = |error| Failure::io(&path, error);
    // proc(5): since Linux 6.2 the size of the directory is the number of open descriptors.
    let size = fs::metadata(&path).map_err(failed)?.len();
    if size > 0 { Ok(size) } else { Ok(fs::read_dir(&path).map_err(failed)?.count() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLLUP: &str = "\
55d0-7fff ---p 00000000 00:00 0                          [rollup]
Rss:                2048 kB
Pss:                1500 kB
Private_Clean:        16 kB
Private_Dirty:       100 kB
Anonymous:            96 kB
";

    #[test]
    fn smaps_rollup_is_read_in_bytes() {
        let memory = Memory::parse(ROLLUP).unwrap();
        assert_eq!(memory, Memory { rss: 2048 * 1024, private: 116 * 1024, anonymous: 96 * 1024 });
        assert_eq!(Memory::parse("Rss: 5 kB\n"), None);
    }

    #[test]
    fn the_own_process_has_cpu_time_memory_and_descriptors() {
        let pid = std::process::id();
        let stretch = Stretch::start(Some(pid)).unwrap();
        let mut spins = 0_u64;
        while stretch.spent().unwrap().own < Duration::from_millis(5) {
            spins += 1;
        }
        let spent = stretch.spent().unwrap();
        assert!(spins > 0 && spent.server.unwrap() >= Duration::from_millis(5));
        assert!(spent.server_ns_each(1).unwrap() >= 5e6);
        assert_eq!(spent.server_ns_each(0), None);
        assert!(Memory::of(pid).unwrap().rss > 100 * 1024);
        assert!(descriptors(pid).unwrap() >= 3);
        assert_eq!(waited(pid).is_some(), fs::exists("/proc/self/schedstat").unwrap());
    }

    #[test]
    fn ended_threads_are_counted() {
        let clock = CpuClock::of(std::process::id()).unwrap();
        let before = clock.read().unwrap();
        std::thread::spawn(|| {
            let start = Stretch::start(None).unwrap();
            while start.spent().unwrap().own < Duration::from_millis(20) {}
        })
        .join()
        .unwrap();
        assert!(clock.read().unwrap() - before >= Duration::from_millis(20));
    }

    #[test]
    fn a_process_that_is_not_there_is_said() {
        // Larger than any pid that Linux gives out (PID_MAX_LIMIT is 2^22).
        assert!(CpuClock::of(1 << 23).is_err());
        assert!(Memory::of(1 << 23).is_err());
        assert_eq!(waited(1 << 23), None);
    }
}
