//! The listening sockets of a process, from the kernel's tables in `/proc/PID/net` (proc(5)).

use std::collections::HashSet;
use std::fs;

use super::usage::{entries, read};
use crate::NotPassed;

/// The state of a listening socket in the tables (TCP_LISTEN of the kernel's `tcp_states.h`).
const LISTEN: &str = "0A";

/// The ports of the listening TCP sockets among the process's descriptors.
pub(super) fn listening_ports(pid: u32) -> Result<Vec<u16>, NotPassed> {
    let mut inodes = HashSet::new();
    for entry in entries(pid, "fd")? {
        // A descriptor may be closed between the listing and the look.
        let Ok(target) = fs::read_link(entry) else { continue };
        let target = target.to_string_lossy().into_owned();
        if let Some(inode) = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
            inodes.insert(inode.to_string());
        }
    }
    let mut ports = Vec::new();
    for table in ["net/tcp", "net/tcp6"] {
        // Without IPv6 there is no table for it.
        let Ok(text) = read(pid, table) else { continue };
        ports.extend(text.lines().filter_map(|line| listening_port(line, &inodes)));
    }
    ports.sort_unstable();
    Ok(ports)
}

/// `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …`, numbers in hex.
fn listening_port(line: &str, inodes: &HashSet<String>) -> Option<u16> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, local, _, state, _, _, _, _, _, inode, ..] = fields[..] else { return None };
    let ours = state == LISTEN && inodes.contains(inode);
    ours.then(|| u16::from_str_radix(local.rsplit(':').next()?, 16).ok())?
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_is_found_while_it_is_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ports = || listening_ports(std::process::id()).unwrap();
        assert!(ports().contains(&port));
        drop(listener);
        assert!(!ports().contains(&port));
    }
}
