//! Starting the threads of connections, and how many there can be.

use std::io;
use std::thread;

/// The stack of a connection's thread, in bytes, unless it is told otherwise.
pub const DEFAULT_STACK_BYTES: usize = 128 * 1024;

/// The least stack of a connection's thread, in bytes; less is taken for this much.
pub const LEAST_STACK_BYTES: usize = 64 * 1024;

/// Address space that must be left beside a new thread's stack: its signal stack, buffers, the allocator.
const SPARE_BYTES: u64 = 1024 * 1024;

/// Starts threads, and knows limits at which the standard library would end the process instead of refusing a
/// thread: a new thread maps a stack of its own for signal handlers, and aborts if it cannot.
#[derive(Debug)]
pub struct Threads {
    stack_bytes: usize,
    /// The most threads.
    most: u64,
    /// The most bytes of address space.
    most_bytes: Option<u64>,
    /// The most that ran at a time: the C library keeps stacks of threads that ended, and takes those first.
    peak: u64,
}

impl Threads {
    /// Threads with stacks of so many bytes.
    pub fn new(stack_bytes: usize) -> Self {
        Self {
            stack_bytes: stack_bytes.max(LEAST_STACK_BYTES),
            most: system::most_threads().unwrap_or(u64::MAX),
            most_bytes: system::most_bytes(),
            peak: 0,
        }
    }

    /// Starts a thread beside `running` others.
    ///
    /// # Errors
    /// What the system says; "out of memory" where it would say nothing and end the process.
    pub fn start(&mut self, running: u64, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        if running >= self.most || (running >= self.peak && !self.fits()) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        thread::Builder::new().stack_size(self.stack_bytes).spawn(work)?;
        self.peak = self.peak.max(running + 1);
        Ok(())
    }

    /// Whether there is address space for one more.
    fn fits(&self) -> bool {
        let Some(most) = self.most_bytes else { return true };
        let needed = (self.stack_bytes as u64).saturating_add(SPARE_BYTES);
        system::bytes().is_none_or(|used| used.saturating_add(needed) <= most)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use rustix::process::{Resource, getrlimit};

    /// Mappings that a thread takes: its stack and its stack for signal handlers, each with a guard page.
    const MAPPINGS_A_THREAD: u64 = 4;

    /// Mappings that are left to the rest of the process.
    const MAPPINGS_BESIDE: u64 = 2048;

    /// How many threads fit into the limit of mappings: `vm.max_map_count` of proc_sys_vm(5).
    pub fn most_threads() -> Option<u64> {
        let most: u64 = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()?;
        Some(most.saturating_sub(MAPPINGS_BESIDE) / MAPPINGS_A_THREAD)
    }

    /// The limit of address space, if there is one: RLIMIT_AS of getrlimit(2).
    pub fn most_bytes() -> Option<u64> {
        getrlimit(Resource::As).current
    }

    /// The address space in use: `VmSize` of proc_pid_status(5), in KiB.
    pub fn bytes() -> Option<u64> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
        let kib: u64 = size.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib * 1024)
    }
}

/// No such limits are known.
#[cfg(not(target_os = "linux"))]
mod system {
    pub fn most_threads() -> Option<u64> {
        None
    }

    pub fn most_bytes() -> Option<u64> {
        None
    }

    pub fn bytes() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_runs_and_one_too_many_is_refused() {
        let mut threads = Threads { most: 2, ..Threads::new(0) };
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        threads.start(1, move || sender.send("ran").unwrap()).unwrap();
        assert_eq!(receiver.recv(), Ok("ran"));
        assert!(threads.start(2, move || other.send("refused").unwrap()).is_err());
        assert!(receiver.recv().is_err());
    }

    #[test]
    fn a_stack_that_no_system_has_is_an_error_and_no_end() {
        assert!(Threads::new(1 << 46).start(0, || {}).is_err());
    }
}
