//! Drives a connection on the smallest stack that a thread can have: 16 KiB on Linux.
//!
//! Built without optimisation, which takes the most; run by `.ci/run`. What does not fit ends the process with a signal.

use evserver_core::{Buffers, Connection, Io, Limits, NumberedEcho, Readiness, Time, Transport, Turn, drive};

const STACK_BYTES: usize = 16 * 1024;

/// Gives lines of every length up to too long, in pieces, and counts what is sent.
struct Wire {
    lines: usize,
    left: usize,
    sent: usize,
}

impl Transport for Wire {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        if self.left == 0 {
            self.lines += 37;
            self.left = self.lines;
        }
        let n = space.len().min(self.left).min(1000);
        self.left -= n;
        space[..n].fill(b'a');
        if self.left == 0 {
            space[n - 1] = b'\n';
        }
        Io::Moved(n)
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        let n = bytes.len().min(700);
        self.sent += n;
        Io::Moved(n)
    }

    fn shutdown_write(&mut self) {}
}

fn main() {
    // Made here: what is driven on the small stack is the connection, its buffers lie elsewhere.
    let mut buffers = Box::new(Buffers::<4096>::new());
    let work = move || {
        let now = Time::from_ms(0);
        let mut connection = Connection::new(NumberedEcho::new(), &Limits::new(), now);
        connection.lend(&mut *buffers, now);
        let mut wire = Wire { lines: 0, left: 0, sent: 0 };
        loop {
            let mut readiness = Readiness::ALL;
            match drive(&mut connection, &mut wire, &mut readiness, now, 65_536) {
                Turn::Waiting | Turn::Again
                    if !matches!(connection.wants().waiting, evserver_core::Waiting::ForPeerEnd) => {}
                _ => return wire.sent,
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).expect("a thread");
    let sent = thread.join().expect("an end");
    assert!(sent > 100_000, "{sent} bytes");
    println!("{sent} bytes of replies on a stack of {STACK_BYTES} bytes");
}
