//! One run of one server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use evserver_conformance::NotPassed;
use evserver_conformance::process::{Launch, Signal};

/// For a reply, and for the end: only something broken takes so long.
const LONG: Duration = Duration::from_secs(60);

/// What is sent; the reply is `N: ` and the same.
const LINE: &[u8] = b"a line of thirty-two bytes, all\n";

/// A server to compare.
pub struct Server {
    pub name: &'static str,
    path: PathBuf,
}

/// What a run showed.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Threads with all clients connected.
    pub threads: f64,
    /// Resident memory that a connection adds, in bytes.
    pub memory_bytes: f64,
    /// Kernel stacks that a connection adds, in bytes; what else the machine does is in it.
    pub kernel_stack_bytes: f64,
    /// From the first connect to the last greeting, in milliseconds.
    pub connect_ms: f64,
    /// Of a reply, with all clients in step, in microseconds.
    pub reply_us: f64,
    /// Of the server's on a processor for a reply, in microseconds.
    pub cpu_us: f64,
    /// From SIGTERM to the server's end, in milliseconds.
    pub end_ms: f64,
}

/// Builds both servers as this program was built, and says where they are.
pub fn build() -> Result<[Server; 2], NotPassed> {
    let own = std::env::current_exe()?;
    let place = own.ancestors().nth(2).ok_or_else(|| NotPassed::failed("where is this program?"))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--bins", "-p", "evserver-linux", "-p", "evserver-threads"]);
    if place.ends_with("release") {
        command.arg("--release");
    }
    if let Some(target) = place.parent() {
        command.arg("--target-dir").arg(target);
    }
    if !command.status()?.success() {
        return Err(NotPassed::failed("the servers do not build"));
    }
    let server = |name| Server { name, path: place.join(name) };
    Ok([server("evserver"), server("evserver-threads")])
}

/// Starts the server, connects, has so many replies, and ends it.
pub fn run(server: &Server, clients: u32, replies: u32) -> Result<Figures, NotPassed> {
    let words = [&server.path.to_string_lossy(), "--listen", "127.0.0.1:0", "--idle-timeout", "0"];
    let mut server = Launch::new(words.map(str::to_owned).into()).start()?;
    // One that has been served, so that what the first one costs is not counted.
    drop(greeted(server.address())?);
    let (before, stacks_before) = (server.usage()?, kernel_stack_bytes()?);
    let start = Instant::now();
    let mut all = (0..clients).map(|_| greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    let connect = start.elapsed();
    let mut number = 0;
    step(&mut all, &mut number)?;
    let (connected, stacks) = (server.usage()?, kernel_stack_bytes()?);

    let rounds = replies.div_ceil(clients);
    let start = Instant::now();
    for _ in 0..rounds {
        step(&mut all, &mut number)?;
    }
    let took = start.elapsed();
    let used = server.usage()?.since(connected);

    let start = Instant::now();
    server.signal(Signal::Terminate)?;
    for client in &mut all {
        if client.read(&mut [0; 64])? != 0 {
            return Err(NotPassed::failed("the end was expected"));
        }
    }
    drop(all);
    let status = server.wait_exit(LONG)?;
    let end = start.elapsed();
    if !status.success() {
        return Err(NotPassed::failed(server.said()));
    }
    let each = |total: u64| total as f64 / f64::from(clients);
    let replies = f64::from(rounds) * f64::from(clients);
    Ok(Figures {
        threads: connected.threads as f64,
        memory_bytes: each(connected.rss_bytes.saturating_sub(before.rss_bytes)),
        kernel_stack_bytes: each(stacks.saturating_sub(stacks_before)),
        connect_ms: connect.as_secs_f64() * 1e3,
        reply_us: took.as_secs_f64() * 1e6 / replies,
        cpu_us: used.cpu.as_secs_f64() * 1e6 / replies,
        end_ms: end.as_secs_f64() * 1e3,
    })
}

fn greeted(address: std::net::SocketAddr) -> Result<TcpStream, NotPassed> {
    let mut client = TcpStream::connect(address)?;
    client.set_nodelay(true)?;
    client.set_read_timeout(Some(LONG))?;
    expect(&mut client, b"ready\n")?;
    Ok(client)
}

/// One line on each connection, then its reply.
fn step(clients: &mut [TcpStream], number: &mut u64) -> Result<(), NotPassed> {
    *number += 1;
    for client in &mut *clients {
        client.write_all(LINE)?;
    }
    let reply = [format!("{number}: ").as_bytes(), LINE].concat();
    clients.iter_mut().try_for_each(|client| expect(client, &reply))
}

fn expect(client: &mut TcpStream, bytes: &[u8]) -> Result<(), NotPassed> {
    let mut came = [0; 128];
    let came = &mut came[..bytes.len()];
    client.read_exact(came)?;
    if came == bytes { Ok(()) } else { Err(NotPassed::failed(format!("a wrong reply: {came:?}"))) }
}

/// The kernel stacks of all threads of this machine: `KernelStack` of proc_meminfo(5).
fn kernel_stack_bytes() -> Result<u64, NotPassed> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let kib = text.lines().find_map(|line| line.strip_prefix("KernelStack:"));
    let kib = kib.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    Ok(kib.unwrap_or(0) * 1024)
}
