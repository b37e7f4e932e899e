//! Five thousand connections to the real binary: all are served at a time, and all are answered at the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evserver_hosted::raise_descriptor_limit;

const CONNECTIONS: usize = 5_000;

/// Descriptors beside those of the connections, here and there.
const BESIDE: usize = 100;

/// Nothing here takes so long unless it is broken.
const LONG: Duration = Duration::from_secs(120);

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start() -> (Server, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_evserver-threads"))
        .args(["--listen", "127.0.0.1:0", "--idle-timeout", "0", "--backlog", "1024", "--drain-timeout", "100"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on ").unwrap().parse().unwrap();
    (Server(child), address)
}

#[test]
fn five_thousand_are_served_at_a_time() {
    let allowed = raise_descriptor_limit().unwrap_or(u64::MAX) as usize;
    let connections = CONNECTIONS.min(allowed.saturating_sub(BESIDE));
    if connections < CONNECTIONS {
        println!("only {connections} connections fit into the limit of descriptors here");
    }
    let (mut server, address) = start();
    let mut clients: Vec<TcpStream> = (0..connections)
        .map(|_| {
            let mut client = TcpStream::connect(address).unwrap();
            client.set_read_timeout(Some(LONG)).unwrap();
            expect(&mut client, b"ready\n");
            client
        })
        .collect();
    for round in 1..=2 {
        for client in &mut clients {
            client.write_all(b"hello\n").unwrap();
        }
        for client in &mut clients {
            expect(client, format!("{round}: hello\n").as_bytes());
        }
    }
    end(&mut server, clients);
    let mut report = String::new();
    server.0.stdout.as_mut().unwrap().read_to_string(&mut report).unwrap();
    assert_eq!(report, format!("served {connections} connections, peak concurrent {connections}\n"));
    assert!(server.0.wait().unwrap().success());
}

/// Stops the server; each client gets a proper end.
fn end(server: &mut Server, clients: Vec<TcpStream>) {
    #[cfg(unix)]
    {
        let pid = nix::unistd::Pid::from_raw(server.0.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    }
    for mut client in clients {
        assert_eq!(client.read(&mut [0; 16]).unwrap(), 0);
    }
}

fn expect(client: &mut TcpStream, bytes: &[u8]) {
    let mut came = vec![0; bytes.len()];
    client.read_exact(&mut came).unwrap();
    assert_eq!(came, bytes);
}
