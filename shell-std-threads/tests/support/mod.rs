//! A server in this process, and a client of it.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod scripted;

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use evserver_threads::{Listening, Options, Peer, Protocol, Report, StopHandle, listen, serve};

/// Nothing here takes so long unless it is broken.
pub const LONG: Duration = Duration::from_millis(LONG_MS as u64);

/// The same in milliseconds.
pub const LONG_MS: u32 = 60_000;

/// Looks again and again, for what no event tells.
pub fn wait_until(mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < LONG, "it did not come about");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A server that runs on a thread of its own.
pub struct Running {
    pub address: SocketAddr,
    pub stop: StopHandle,
    server: JoinHandle<io::Result<Report>>,
}

impl Running {
    /// Serves on a free port.
    pub fn start<P>(options: Options, make: impl FnMut(&Peer<P>) -> P + Send + 'static) -> Self
    where
        P: Protocol + Send + 'static,
    {
        let listeners: Vec<Listening> = listen(&["127.0.0.1:0".parse().unwrap()], &Default::default()).unwrap();
        let address = listeners[0].address;
        let stop = StopHandle::new().unwrap();
        let options = Options { stop: Some(stop.clone()), ..options };
        let server = std::thread::spawn(move || serve(listeners, options, make));
        Self { address, stop, server }
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Drains and waits for the end.
    pub fn finish(self) -> Report {
        self.stop.drain();
        self.join()
    }

    /// Waits for the end.
    pub fn join(self) -> Report {
        self.server.join().expect("serve panicked").expect("serve failed")
    }
}

/// A client that waits for what it expects, and for nothing longer than [`LONG`].
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub fn stream(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream().write_all(bytes.as_ref()).unwrap();
    }

    pub fn half_close(&mut self) {
        self.stream().shutdown(Shutdown::Write).unwrap();
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).unwrap();
        byte[0]
    }

    /// The next line, with its newline; empty at the end of the stream.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line
    }

    pub fn expect(&mut self, lines: &str) {
        for line in lines.split_inclusive('\n') {
            assert_eq!(self.line(), line);
        }
    }

    /// The server has ended the connection, properly.
    pub fn expect_end(&mut self) {
        assert_eq!(self.line(), "", "the end of the stream was expected");
    }

    /// The server has ended the connection, in whatever way.
    pub fn expect_gone(&mut self) {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }

    /// Everything up to the end of the stream, which must be a proper one.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.stream.read_to_string(&mut rest).unwrap();
        rest
    }
}
