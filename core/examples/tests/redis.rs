//! `resp` under the clients that come with Redis, on every shell.

mod tools;

use std::io::Write;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use evserver_examples::resp::{BULK_BYTES, Resp, Store};

use tools::{client, run, serving, shells, text};

/// Serves a fresh store on every shell that runs here, with one loop and with several.
fn everywhere(talk: impl Fn(SocketAddr)) {
    for &shell in shells() {
        for loops in [1, 3] {
            let store = Arc::new(Store::default());
            let report = serving(shell, loops, |_| Resp::new(Arc::clone(&store)), &talk);
            assert_eq!((report.counts.panicked, report.counts.open), (0, 0), "{shell:?}");
        }
    }
}

fn at(command: &mut Command, address: SocketAddr) -> &mut Command {
    command.args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()])
}

#[test]
fn redis_cli_talks() {
    if client("redis-cli").is_none() {
        return;
    }
    everywhere(|address| {
        let ask = |arguments: &[&str]| {
            text(&run(at(&mut Command::new("redis-cli"), address).args(arguments), b"")).trim_end().to_owned()
        };
        assert_eq!(ask(&["PING"]), "PONG");
        assert_eq!(ask(&["ECHO", "two words\r\nand a line"]), "two words\r\nand a line");
        assert_eq!(ask(&["SET", "key", "a value"]), "OK");
        assert_eq!(ask(&["GET", "key"]), "a value");
        assert_eq!(ask(&["GET", "no"]), "");
        assert_eq!((ask(&["INCR", "n"]), ask(&["INCR", "n"])), ("1".to_owned(), "2".to_owned()));
        assert_eq!(ask(&["DEL", "key", "n", "no"]), "2");
        assert!(ask(&["SET", "key"]).contains("wrong number of arguments"));
        assert_eq!(ask(&["QUIT"]), "OK");
        // Several commands over one connection, as typed.
        let typed = b"SELECT 0\nSET a 1\nINCR a\nGET a\n";
        assert_eq!(text(&run(at(&mut Command::new("redis-cli"), address), typed)), "OK\nOK\n2\n2\n");
        // The protocol that a new client proposes is refused, and it goes on with the old one.
        let answered = run(at(&mut Command::new("redis-cli"), address).args(["-3", "PING"]), b"");
        assert!(text(&answered).contains("PONG"), "{answered:?}");
    });
}

#[test]
fn redis_cli_moves_values_of_a_mebibyte() {
    if client("redis-cli").is_none() {
        return;
    }
    everywhere(|address| {
        let value: Vec<u8> = (0..BULK_BYTES as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let set = run(at(&mut Command::new("redis-cli"), address).args(["-x", "SET", "large"]), &value);
        assert_eq!(text(&set), "OK\n");
        let got = run(at(&mut Command::new("redis-cli"), address).args(["GET", "large"]), b"").stdout;
        assert!(got.strip_suffix(b"\n") == Some(&value), "{} bytes", got.len());
        // One byte more is refused, and it says so.
        let too_large = [&value[..], b"x"].concat();
        let refused = run(at(&mut Command::new("redis-cli"), address).args(["-x", "SET", "large"]), &too_large);
        assert!(text(&refused).contains("Protocol error: invalid bulk length"), "{refused:?}");
    });
}

#[test]
fn redis_cli_sends_a_mass_of_commands_at_once() {
    if client("redis-cli").is_none() {
        return;
    }
    const COMMANDS: usize = 20_000;
    everywhere(|address| {
        let mut commands = Vec::new();
        for n in 0..COMMANDS {
            let key = format!("key-{n}");
            write!(commands, "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n$1\r\n{}\r\n", key.len(), n % 10).unwrap();
        }
        let said = text(&run(at(&mut Command::new("redis-cli"), address).arg("--pipe"), &commands));
        assert!(said.contains(&format!("errors: 0, replies: {COMMANDS}")), "{said}");
        let last = format!("key-{}", COMMANDS - 1);
        assert_eq!(text(&run(at(&mut Command::new("redis-cli"), address).args(["GET", &last]), b"")), "9\n");
    });
}

#[test]
fn redis_benchmark_runs_without_an_error() {
    if client("redis-benchmark").is_none() {
        return;
    }
    everywhere(|address| {
        for more in [&["-n", "5000"][..], &["-n", "20000", "-P", "16"], &["-n", "2000", "-d", "10000"]] {
            let tests = ["-t", "ping_inline,ping_mbulk,set,get", "-c", "50", "-r", "1000", "--csv"];
            let ran = run(at(&mut Command::new("redis-benchmark"), address).args(tests).args(more), b"");
            let said = text(&ran);
            for test in ["PING_INLINE", "PING_MBULK", "SET", "GET"] {
                assert!(said.contains(&format!("\"{test}\",")), "{test} with {more:?}: {ran:?}");
            }
            let complaints = String::from_utf8_lossy(&ran.stderr).to_lowercase() + &said.to_lowercase();
            assert!(!complaints.contains("error") && !complaints.contains("warning"), "{more:?}: {complaints}");
        }
    });
}

#[test]
fn nc_types_commands() {
    let Some(_) = client("nc") else { return };
    everywhere(|address| {
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let said = run(Command::new("nc").args(["-N", &ip, &port]), b"PING\r\nSET a b\nGET a\nQUIT\n");
        assert_eq!(text(&said), "+PONG\r\n+OK\r\n$1\r\nb\r\n+OK\r\n");
    });
}

/// Field lesson: lengths that are announced and not sent take no memory, however many clients do that.
#[cfg(target_os = "linux")]
#[test]
fn announced_lengths_take_no_memory() {
    use std::io::Read;

    use tools::connect;

    const CLIENTS: usize = 300;
    everywhere(|address| {
        let before = resident_bytes();
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| connect(address)).collect();
        for client in &mut clients {
            client.write_all(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048576\r\nfirst bytes").unwrap();
        }
        for client in &mut clients {
            // Nothing of it is a command.
            client.write_all(b"\r\nQUIT\r\nPING\r\n").unwrap();
        }
        let mut other = connect(address);
        other.write_all(b"PING\r\n").unwrap();
        other.read_exact(&mut [0; 7]).unwrap();
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < CLIENTS * BULK_BYTES / 4, "{grown} bytes for {CLIENTS} clients");
    });
}

/// Memory of this process, the servers in it included.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident: usize = pages.split_whitespace().nth(1).unwrap().parse().unwrap();
    resident * 4096
}
