//! The whole machine: the kernel's memory, and the limit of descriptors.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::process::kilobytes;

/// Descriptors of this process that are no connections: standard streams, epoll, /proc files for a moment.
const DESCRIPTORS_OWN: u64 = 32;

/// The kernel's memory, in bytes. It counts everybody's, and both ends of a loopback connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KernelMemory {
    /// Objects of the kernel, sockets and files among them (Slab in /proc/meminfo).
    pub slab: u64,
    /// Pages that hold data of TCP sockets (mem in /proc/net/sockstat).
    pub tcp_buffers: u64,
    /// TCP sockets in use (inuse in /proc/net/sockstat; IPv6 ones are not in it).
    pub tcp_sockets: u64,
}

impl KernelMemory {
    /// The state now.
    pub fn now() -> Outcome<Self> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| Failure::io(path, error));
        let meminfo = read("/proc/meminfo")?;
        let sockstat = read("/proc/net/sockstat")?;
        KernelMemory::parse(&meminfo, &sockstat, rustix::param::page_size() as u64)
            .ok_or_else(|| Failure::Refused("/proc/meminfo or sockstat has not the fields that are needed".into()))
    }

    fn parse(meminfo: &str, sockstat: &str, page_bytes: u64) -> Option<Self> {
        let tcp = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
        let field = |name: &str| -> Option<u64> {
            let mut words = tcp.split_whitespace().skip_while(|word| *word != name);
            words.nth(1)?.parse().ok()
        };
        Some(KernelMemory {
            slab: kilobytes(meminfo, "Slab:")?,
            tcp_buffers: field("mem")? * page_bytes,
            tcp_sockets: field("inuse")?,
        })
    }
}

/// Raises the limit of descriptors so that `connections` fit, or says that they do not.
pub fn allow_connections(connections: u64) -> Outcome<()> {
    let needed = connections + DESCRIPTORS_OWN;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < needed) {
        let maximum = limit.maximum.unwrap_or(0);
        let why = format!("{connections} connections need {needed} descriptors, the hard limit is {maximum}");
        return Err(Failure::Refused(why));
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .map_err(|error| Failure::io("cannot raise the limit of descriptors", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_files_are_read() {
        let meminfo = "MemTotal:       24683652 kB\nSlab:              40000 kB\n";
        let sockstat = "sockets: used 100\nTCP: inuse 7 orphan 0 tw 2 alloc 8 mem 3\nUDP: inuse 0 mem 0\n";
        let memory = KernelMemory::parse(meminfo, sockstat, 4096).unwrap();
        assert_eq!(memory, KernelMemory { slab: 40_000 * 1024, tcp_buffers: 3 * 4096, tcp_sockets: 7 });
        assert_eq!(KernelMemory::parse(meminfo, "UDP: inuse 0\n", 4096), None);
        assert!(KernelMemory::now().unwrap().slab > 0);
    }

    #[test]
    fn too_many_connections_are_refused_with_the_limit() {
        assert!(allow_connections(10).is_ok());
        if getrlimit(Resource::Nofile).maximum.is_some() {
            let refused = allow_connections(u64::MAX / 2).unwrap_err().to_string();
            assert!(refused.contains("the hard limit is"), "{refused}");
        }
    }
}
