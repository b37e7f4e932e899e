//! What Linux counts about a process, from `/proc` (proc(5)).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::NotPassed;

/// One look at a process, or the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How often a thread went to sleep of its own accord, which is how often one was woken: threads that have ended count no more.
    pub wakeups: u64,
    /// Time on a processor, all threads.
    pub cpu: Duration,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
}

/// A tick of `utime` and `stime`: USER_HZ is 100 in every Linux ABI of today.
const TICK: Duration = Duration::from_millis(10);

impl Usage {
    pub(super) fn of(pid: u32) -> Result<Usage, NotPassed> {
        let mut usage = Usage { descriptors: entries(pid, "fd")?.len(), ..Usage::default() };
        let mut exact = Some(Duration::ZERO);
        for task in entries(pid, "task")? {
            // A thread may end between the listing and the look.
            let Ok(status) = fs::read_to_string(task.join("status")) else { continue };
            usage.threads += 1;
            usage.wakeups += number(&status, "voluntary_ctxt_switches:");
            let ran = fs::read_to_string(task.join("schedstat")).ok().and_then(|text| run_time(&text));
            exact = exact.zip(ran).map(|(sum, ran)| sum + ran);
        }
        usage.rss_bytes = number(&read(pid, "status")?, "VmRSS:") * 1024;
        usage.cpu = match exact {
            Some(exact) if exact > Duration::ZERO => exact,
            _ => ticks(&read(pid, "stat")?),
        };
        Ok(usage)
    }

    /// What was used between an earlier look and this one; memory, descriptors and threads are those of now.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            wakeups: self.wakeups.saturating_sub(before.wakeups),
            cpu: self.cpu.saturating_sub(before.cpu),
            ..self
        }
    }
}

/// Whether each thread of the process stands still: stopped, or held by a tracer.
pub(super) fn all_stopped(pid: u32) -> Result<bool, NotPassed> {
    Ok(entries(pid, "task")?.iter().all(|task| {
        fs::read_to_string(task.join("status"))
            .is_ok_and(|status| matches!(word(&status, "State:"), Some("T" | "t")))
    }))
}

/// The child that the process started last, if any: what `unshare --fork` stands around.
pub(super) fn child_of(pid: u32) -> Option<u32> {
    let parent = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        Some(number(&status, "PPid:"))
    };
    let processes = fs::read_dir("/proc").ok()?;
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&process| parent(process) == Some(u64::from(pid)))
        .max()
}

/// O_CLOEXEC in the octal `flags` of fdinfo, on every architecture but alpha, parisc and sparc.
const CLOSE_ON_EXEC: u64 = 0o2_000_000;

/// The same for this process: what a make or a CI runner left open reaches every child.
pub fn inherited_by_this_process() -> Result<Vec<String>, NotPassed> {
    inherited_descriptors(std::process::id())
}

pub(super) fn inherited_descriptors(pid: u32) -> Result<Vec<String>, NotPassed> {
    let mut inherited = Vec::new();
    for entry in entries(pid, "fd")? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(information) = read(pid, &format!("fdinfo/{name}")) else { continue };
        let flags = word(&information, "flags:").and_then(|flags| u64::from_str_radix(flags, 8).ok());
        let standard = matches!(&*name, "0" | "1" | "2");
        if !standard && flags.unwrap_or(0) & CLOSE_ON_EXEC == 0 {
            let target = fs::read_link(&entry).unwrap_or_default();
            inherited.push(format!("{name} -> {}", target.display()));
        }
    }
    Ok(inherited)
}

pub(super) fn entries(pid: u32, folder: &str) -> Result<Vec<PathBuf>, NotPassed> {
    let listing = fs::read_dir(format!("/proc/{pid}/{folder}")).map_err(|error| missing(pid, folder, &error))?;
    Ok(listing.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

pub(super) fn read(pid: u32, file: &str) -> Result<String, NotPassed> {
    fs::read_to_string(format!("/proc/{pid}/{file}")).map_err(|error| missing(pid, file, &error))
}

/// No `/proc` at all is this system's nature; a process without an entry in it has ended.
fn missing(pid: u32, what: &str, error: &std::io::Error) -> NotPassed {
    if !std::path::Path::new("/proc/self/status").exists() {
        return NotPassed::skipped_loudly("there is no Linux /proc here to count wake-ups and descriptors with");
    }
    NotPassed::failed(format!("the server's process {pid} is gone (/proc/{pid}/{what}: {error})"))
}

/// The first word after `name` at the start of a line.
fn word<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next())
}

fn number(text: &str, name: &str) -> u64 {
    word(text, name).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// The first field of schedstat: nanoseconds on a processor.
fn run_time(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// utime and stime: fields 14 and 15 of `stat`, counted behind the name in brackets, which may hold spaces.
fn ticks(stat: &str) -> Duration {
    let behind_name = stat.rfind(')').map_or("", |at| &stat[at + 1..]);
    let ticks = behind_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn what_a_process_uses_is_counted() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while sleep 0.002; do :; done"])
            .stdin(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let before = Usage::of(child.id()).unwrap();
        assert!(before.threads == 1 && before.descriptors >= 3, "{before:?}");
        // It wakes when a sleep of its ends.
        let deadline = Instant::now() + crate::DEADLINE;
        let mut used = Usage::default();
        while used.wakeups < 10 || used.cpu.is_zero() {
            assert!(Instant::now() < deadline, "{used:?}");
            std::thread::sleep(Duration::from_millis(2));
            used = Usage::of(child.id()).unwrap().since(before);
        }
        assert!(used.rss_bytes > 100_000, "{used:?}");
        assert!(!all_stopped(std::process::id()).unwrap());
        assert_eq!(child_of(std::process::id()), Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_inheritable_descriptor_is_found() {
        let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::empty()).unwrap();
        let inherited = inherited_descriptors(std::process::id()).unwrap();
        assert!(inherited.iter().any(|one| one.contains("pipe:")), "{inherited:?}");
        drop(pipe);
    }

    #[test]
    fn fields_are_read_where_they_are() {
        let stat = "7 (a b) c) S 1 1 1 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 9 9 9";
        assert_eq!(ticks(stat), Duration::from_secs(3));
        assert_eq!(run_time("1500 3 4\n"), Some(Duration::from_nanos(1500)));
        assert_eq!(number("VmRSS:\t  12 kB\n", "VmRSS:"), 12);
        assert_eq!(word("State:\tT (stopped)\n", "State:"), Some("T"));
    }
}
