//! A server of the numbered echo for the suite's own tests: right as it stands, and wrong in one way with `--fault`.
//!
//! `--loop threads` has one blocking thread a connection and nothing but std; `--loop events` (Linux) has one epoll loop.
//! Both are as simple as they can be: whoever wants to know what a rule means can read it here.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod events;
mod fault;
mod talk;
mod threads;

use std::net::TcpListener;
use std::time::Duration;

use fault::Fault;

/// What both loops need to know.
#[derive(Clone, Copy)]
pub struct Options {
    fault: Fault,
    idle: Duration,
    most_connections: usize,
}

/// After our end of stream, what still arrives is discarded for so long.
const LINGER: Duration = Duration::from_secs(2);

/// How much is read at a time.
const READ_BYTES: usize = 4096;

/// Much more than a line, for the fault that depends on it.
const LARGE_READ_BYTES: usize = 65_536;

impl Options {
    /// How long a connection may do nothing.
    fn idle(&self) -> Duration {
        match self.fault {
            Fault::FiresEarly => self.idle / 2,
            _ => self.idle,
        }
    }

    fn read_bytes(&self) -> usize {
        match self.fault {
            Fault::ChecksLengthWhenIncomplete => LARGE_READ_BYTES,
            _ => READ_BYTES,
        }
    }
}

fn main() {
    let mut options = Options { fault: Fault::None, idle: Duration::from_secs(30), most_connections: usize::MAX };
    let mut listen = "127.0.0.1:0".to_string();
    let mut events = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().expect("every option has a value");
        match &*name {
            "--listen" => listen = value,
            "--idle-timeout" => options.idle = Duration::from_secs_f64(value.parse().expect("seconds")),
            "--max-connections" => options.most_connections = value.parse().expect("a number"),
            "--loop" => events = value == "events",
            "--fault" => options.fault = Fault::named(&value).expect("a fault of the list"),
            _ => panic!("{name}: no such option"),
        }
    }
    let listener = TcpListener::bind(&listen).expect("cannot listen");
    println!("listening on {}", listener.local_addr().expect("an address"));
    match events {
        false => threads::serve(&listener, options),
        #[cfg(target_os = "linux")]
        true => events::serve(&listener, options).expect("the loop failed"),
        #[cfg(not(target_os = "linux"))]
        true => panic!("--loop events needs epoll"),
    }
}

/// What a send or receive that failed means for the whole process.
fn failed(options: Options, error: &std::io::Error) {
    if options.fault == Fault::DiesOfBrokenPipe
        && matches!(error.kind(), std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset)
    {
        std::process::exit(1);
    }
}
