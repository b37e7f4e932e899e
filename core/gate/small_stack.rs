//! Drives a connection on the smallest stack that a thread can have: 16 KiB on Linux. Then says how much it takes.
//!
//! Built without optimisation, which takes the most, and with; run by `.ci/costs`. What does not fit ends the process with
//! a signal: so a stack is filled more and more, each time in a process of its own, until the rest does not suffice, and
//! the same with nothing to do.

use std::hint::black_box;
use std::process::{Command, Stdio};

use evserver_core::{
    Buffers, Connection, Io, Limits, NumberedEcho, Readiness, Time, Transport, Turn, Waiting, drive,
};

const STACK_BYTES: usize = 16 * 1024;

/// The stack that is filled.
const MEASURED_BYTES: usize = 64 * 1024;

/// How exactly it is measured: a call that fills takes more than this.
const STEP_BYTES: usize = 32;

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

/// Drives a connection to its end; what it takes of the stack is what is measured. The buffers lie elsewhere.
fn talk(buffers: &mut Buffers) -> usize {
    let now = Time::from_ms(0);
    let mut connection = Connection::new(NumberedEcho::new(), &Limits::new(), now);
    connection.lend(&mut *buffers, now);
    let mut wire = Wire { lines: 0, left: 0, sent: 0 };
    loop {
        let mut readiness = Readiness::ALL;
        match drive(&mut connection, &mut wire, &mut readiness, now, 65_536) {
            Turn::Waiting | Turn::Again if connection.wants().waiting != Waiting::ForPeerEnd => {}
            _ => return wire.sent,
        }
    }
}

fn on_a_thread(stack_bytes: usize, work: impl FnOnce() -> usize + Send + 'static) -> usize {
    let thread = std::thread::Builder::new().stack_size(stack_bytes).spawn(work).expect("a thread");
    thread.join().expect("an end")
}

/// Fills the stack from `top` down by at least so many bytes, and works there.
#[inline(never)]
fn filled(top: usize, bytes: usize, work: &mut dyn FnMut() -> usize) -> usize {
    let here = black_box([0u8; 16]);
    let done = if top - here.as_ptr().addr() >= bytes { work() } else { filled(top, bytes, work) };
    // Used once more, so that this call is not the last thing.
    done + usize::from(here[0])
}

/// What the process of the same program does that is told `work` and how many bytes to fill.
fn child(work: &str, fill: usize) {
    let mut buffers = Box::new(Buffers::<4096>::new());
    let talks = work == "talk";
    on_a_thread(MEASURED_BYTES, move || {
        let top = black_box([0u8; 16]);
        filled(top.as_ptr().addr(), fill, &mut || if talks { talk(&mut buffers) } else { 0 })
    });
}

/// The most bytes of a stack that can be filled before it does not suffice any more.
fn most(work: &str) -> usize {
    let suffices = |fill: usize| {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program);
        child.args([work, &fill.to_string()]).stderr(Stdio::null()).status().expect("a process").success()
    };
    assert!(suffices(0), "{work}: {MEASURED_BYTES} bytes do not suffice");
    let (mut enough, mut too_much) = (0, MEASURED_BYTES);
    while too_much - enough > STEP_BYTES {
        let middle = enough.midpoint(too_much);
        if suffices(middle) { enough = middle } else { too_much = middle }
    }
    enough
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [work, fill] = &arguments[..] {
        return child(work, fill.parse().expect("a number of bytes"));
    }
    let mut buffers = Box::new(Buffers::<4096>::new());
    let sent = on_a_thread(STACK_BYTES, move || talk(&mut buffers));
    assert!(sent > 100_000, "{sent} bytes");
    println!("{sent} bytes of replies on a stack of {STACK_BYTES} bytes");
    let stack = most("nothing") - most("talk");
    assert!(stack > STEP_BYTES, "nothing is done in {stack} bytes");
    println!("stack {stack} bytes");
}
