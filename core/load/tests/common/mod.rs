//! Servers for the tests: the yardstick as a process, and a numbered echo of std threads that can be made faulty.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use evserver_load::progress::Progress;
use evserver_load::script::Mode;
use evserver_load::steady;
use evserver_load::target::Target;

/// A yardstick that ends with this value.
pub struct Yardstick {
    child: Child,
    pub target: Target,
}

impl Yardstick {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evserver-yardstick"))
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on ").expect(&line).parse().unwrap();
        let mut target = Target::new(address, Mode::Echo);
        target.pid = Some(child.id());
        target.greeting = arguments.contains(&"--greeting");
        Yardstick { child, target }
    }
}

impl Drop for Yardstick {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What a server does wrong, at reply 3 of each connection where it is about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    WrongByte,
    WrongNumber,
    NumbersSharedByConnections,
    MissingReply,
    DoubledReply,
    AnotherConnectionsReply,
    CarriageReturn,
    WrongGreeting,
    RefusesAll,
    EndsEarly,
    FallsSilent,
    TalksToIdleClients,
    WrongFarewell,
    NoFarewell,
}

/// The faulty reply.
pub const FAULTY: u64 = 3;

/// A numbered echo in this process, a thread a connection: too simple to be wrong where it is not meant to be.
pub fn numbered(fault: Fault) -> Target {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test's process.
    thread::spawn(move || {
        let shared: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        for socket in listener.incoming() {
            // A client that goes early ends its connection only.
            thread::spawn(move || serve(socket.unwrap(), fault, shared).ok());
        }
    });
    let mut target = Target::new(address, Mode::Numbered);
    target.patience = Duration::from_secs(60);
    target
}

fn serve(mut socket: TcpStream, fault: Fault, shared: &AtomicU64) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    match fault {
        Fault::RefusesAll => return socket.write_all(b"server full\n"),
        Fault::WrongGreeting => socket.write_all(b"Ready\n")?,
        Fault::TalksToIdleClients => socket.write_all(b"ready\nare you there?\n")?,
        _ => socket.write_all(b"ready\n")?,
    }
    let mut lines = BufReader::new(socket.try_clone()?);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 || line.pop() != Some(b'\n') {
            return Ok(());
        }
        if line == b"quit" {
            match fault {
                Fault::WrongFarewell => socket.write_all(b"bye!\n")?,
                Fault::NoFarewell => {}
                _ => socket.write_all(b"bye\n")?,
            }
            socket.shutdown(std::net::Shutdown::Write)?;
            return lines.read_to_end(&mut line).map(|_| ());
        }
        number += 1;
        if fault == Fault::NumbersSharedByConnections {
            number = shared.fetch_add(1, Ordering::Relaxed) + 1;
        }
        let mut reply = format!("{number}: ").into_bytes();
        reply.extend_from_slice(&line);
        reply.push(b'\n');
        if number == FAULTY {
            match fault {
                Fault::WrongByte => {
                    let last = reply.len() - 2;
                    reply[last] ^= 1;
                }
                Fault::WrongNumber => reply[0] += 1,
                Fault::MissingReply => reply.clear(),
                Fault::DoubledReply => reply = reply.repeat(2),
                Fault::AnotherConnectionsReply => reply[3..].rotate_left(1),
                Fault::CarriageReturn => reply.insert(reply.len() - 1, b'\r'),
                Fault::EndsEarly => return Ok(()),
                Fault::FallsSilent => return lines.read_to_end(&mut line).map(|_| ()),
                _ => {}
            }
        }
        socket.write_all(&reply)?;
    }
}

/// A small steady load, bounded by count.
pub fn small(connections: u64, depth: u64) -> steady::Plan {
    steady::Plan {
        connections,
        depth,
        idle: 0,
        time: Duration::from_secs(60),
        replies: Some(2000),
        warm_up: Duration::ZERO,
        in_step: false,
    }
}

/// Runs a small load that must succeed.
pub fn run(target: &Target, plan: &steady::Plan) -> steady::Report {
    steady::run(target, plan, &mut Progress::silent()).unwrap()
}

/// Everything that a client gets from `address` for `bytes`, until the server ends.
pub fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(bytes).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut all = Vec::new();
    socket.read_to_end(&mut all).unwrap();
    all
}
