//! A server whose protocol panics when it is told to, in the call that it is told.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evserver_core::{CloseReason, Next, Protocol, Reply};
use evserver_examples::shells::{Program, ShellArgs};
use evserver_hosted::{Handle, Peer, parse};

#[derive(clap::Parser)]
struct Args {
    #[command(flatten)]
    shell: ShellArgs,
}

/// The next client's protocol panics while it is made.
static NEXT: AtomicBool = AtomicBool::new(false);

/// The next client's protocol panics while it greets.
static GREETING: AtomicBool = AtomicBool::new(false);

/// A push was refused.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// More than any system keeps for a client that does not read.
const PUSHES: usize = 10_000;
const PUSH_BYTES: usize = 4000;

/// Says lines back, or panics.
struct Panicking {
    handle: Handle<Self>,
    in_closed: bool,
    in_drop: bool,
}

impl Panicking {
    fn new(peer: &Peer<Self>) -> Self {
        assert!(!NEXT.swap(false, Ordering::SeqCst), "wanted: making");
        Self { handle: peer.handle.clone(), in_closed: false, in_drop: false }
    }
}

impl Protocol for Panicking {
    fn room(&self, len: usize) -> usize {
        len + 1
    }

    fn open(&mut self, _: &mut Reply<'_>) -> Next {
        assert!(!GREETING.swap(false, Ordering::SeqCst), "wanted: open");
        Next::Line
    }

    fn line(&mut self, line: &[u8], reply: &mut Reply<'_>) -> Next {
        match line {
            b"line" => panic!("wanted: line"),
            b"body" => return Next::Body(3),
            b"completed" => {
                let ticket = reply.ticket(0);
                self.handle.complete(ticket, |_| {});
                return Next::Later(ticket);
            }
            b"answer" => {
                let ticket = reply.ticket(0);
                self.handle.complete(ticket, |_| panic!("wanted: answer"));
                return Next::Later(ticket);
            }
            b"never" => return Next::Later(reply.ticket(0)),
            b"expired" => return Next::Later(reply.ticket(1)),
            b"timer" => reply.set_timer(1),
            b"missed" => {
                let bytes: Arc<[u8]> = vec![b'x'; PUSH_BYTES].into();
                for _ in 0..PUSHES {
                    self.handle.push_or(reply.token(), Arc::clone(&bytes), |taken| {
                        REFUSED.fetch_or(!taken, Ordering::SeqCst);
                    });
                }
            }
            b"outcome" => self.handle.push_or(reply.token(), *b"pushed\n", |_| panic!("wanted: outcome")),
            b"drop later" => self.in_drop = true,
            b"refused?" if !REFUSED.load(Ordering::SeqCst) => {
                return reply.put(b"no\n").map_or(Next::Close, |()| Next::Line);
            }
            b"closed" => {
                self.in_closed = true;
                return Next::Close;
            }
            b"drop" => {
                self.in_drop = true;
                return Next::Close;
            }
            b"making" => NEXT.store(true, Ordering::SeqCst),
            b"open" => GREETING.store(true, Ordering::SeqCst),
            _ => {}
        }
        match reply.put(&[line, b"\n"].concat()) {
            Ok(()) => Next::Line,
            Err(_) => Next::Close,
        }
    }

    fn body(&mut self, _: &[u8], _: u64, _: &mut Reply<'_>) -> Next {
        panic!("wanted: body")
    }

    fn completed(&mut self, _: &mut Reply<'_>) -> Next {
        panic!("wanted: completed")
    }

    fn ticket_expired(&mut self, _: &mut Reply<'_>) -> Next {
        panic!("wanted: expired")
    }

    fn timer(&mut self, _: &mut Reply<'_>) -> Next {
        panic!("wanted: timer")
    }

    fn missed(&mut self, _: u32, _: &mut Reply<'_>) -> Next {
        panic!("wanted: missed")
    }

    fn end(&mut self, tail: &[u8], _: &mut Reply<'_>) -> Next {
        assert!(tail != b"end", "wanted: end");
        Next::Close
    }

    fn closed(&mut self, _: CloseReason) {
        assert!(!self.in_closed, "wanted: closed");
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        assert!(!self.in_drop, "wanted: drop");
    }
}

fn main() -> ExitCode {
    let Args { shell } = parse();
    match Program::begin("panicking", shell) {
        Ok(program) => program.run(Panicking::new),
        Err(code) => code,
    }
}
