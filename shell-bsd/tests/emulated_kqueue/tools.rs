//! What the tests share: making changes, asking a queue, making sockets.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Command, Output};
use std::ptr;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

pub use evserver_bsd::emulated::*;

/// How long a test waits for what must come. Only a failing test waits so long.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Room for more events than any test has, unless it asks for less.
const ROOM: usize = 16;

/// A change with nothing but the common fields.
pub fn change(ident: usize, filter: i16, flags: u16) -> kevent {
    kevent { ident, filter, flags, fflags: 0, data: 0, udata: ptr::null_mut(), ext: [0; 4] }
}

/// A change for a descriptor.
pub fn on(descriptor: &impl AsRawFd, filter: i16, flags: u16) -> kevent {
    change(descriptor.as_raw_fd() as usize, filter, flags)
}

/// The change with a value to recognise its event by.
pub fn marked(change: kevent, mark: usize) -> kevent {
    kevent { udata: ptr::without_provenance_mut(mark), ..change }
}

/// The value that `marked` gave.
pub fn mark(event: &kevent) -> usize {
    event.udata.addr()
}

/// Applies changes that must all succeed.
pub fn apply(queue: &Kqueue, changes: &[kevent]) {
    assert_eq!(queue.kevent(changes, &mut [], None).unwrap(), 0);
}

/// The errno of a single change that must fail.
pub fn refused(queue: &Kqueue, change: kevent) -> i32 {
    let error = queue.kevent(&[change], &mut [], None).unwrap_err();
    error.raw_os_error().unwrap()
}

/// A queue with these changes applied.
pub fn queue(changes: &[kevent]) -> Kqueue {
    let queue = Kqueue::new().unwrap();
    apply(&queue, changes);
    queue
}

/// At most `room` events within `limit`. Signals that other tests send to the
/// process may interrupt the wait.
fn ask(queue: &Kqueue, room: usize, limit: Duration) -> Vec<kevent> {
    let mut events = vec![change(0, 0, 0); room];
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match queue.kevent(&[], &mut events, Some(left)) {
            Ok(count) => {
                events.truncate(count);
                return events;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => panic!("kevent: {error}"),
        }
    }
}

/// What is there now.
pub fn poll(queue: &Kqueue) -> Vec<kevent> {
    ask(queue, ROOM, Duration::ZERO)
}

/// What is there now, as far as the room goes.
pub fn poll_room(queue: &Kqueue, room: usize) -> Vec<kevent> {
    ask(queue, room, Duration::ZERO)
}

/// The first events that come; there must be some.
pub fn wait(queue: &Kqueue) -> Vec<kevent> {
    let events = ask(queue, ROOM, LIMIT);
    assert!(!events.is_empty(), "no event in {LIMIT:?}");
    events
}

/// The next event, which must be alone.
pub fn wait_one(queue: &Kqueue) -> kevent {
    let events = wait(queue);
    assert_eq!(events.len(), 1, "{events:?}");
    events[0]
}

/// Asks until an event passes: for conditions that the network stack reaches
/// step by step.
pub fn wait_until(queue: &Kqueue, what: impl Fn(&kevent) -> bool) -> kevent {
    let deadline = Instant::now() + LIMIT;
    loop {
        let events = wait(queue);
        if let Some(event) = events.iter().find(|event| what(event)) {
            return *event;
        }
        assert!(Instant::now() < deadline, "last events: {events:?}");
    }
}

/// Two connected TCP sockets: the connecting one and the accepted one.
pub fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    (client, server)
}

/// Writes until the socket takes no more, and says how much it took.
pub fn fill(socket: &mut (impl Write + AsRawFd)) -> usize {
    let mut taken = 0;
    loop {
        match socket.write(&[b'x'; 4096]) {
            Ok(count) => taken += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return taken,
            Err(error) => panic!("write: {error}"),
        }
    }
}

/// Set for a test that runs in a process of its own, to its name.
const ALONE: &str = "EMULATED_KQUEUE_ALONE";

/// Whether this process is the one that runs the test `name` alone.
pub fn is_alone(name: &str) -> bool {
    std::env::var(ALONE).is_ok_and(|value| value == name)
}

/// Held for writing while there is a child, which has a copy of every descriptor
/// until it executes its program.
static CHILDREN: RwLock<()> = RwLock::new(());

/// No other test starts a process while this lives: what is closed then is closed
/// for good.
pub fn no_children() -> RwLockReadGuard<'static, ()> {
    CHILDREN.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs this program for the one test `name`, started by `prefix` (a shell command
/// that ends in `exec "$@"`).
pub fn run_alone(name: &str, prefix: &str) -> Output {
    let _children = CHILDREN.write().unwrap_or_else(PoisonError::into_inner);
    Command::new("sh")
        .args(["-c", prefix, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, name)
        .output()
        .unwrap()
}

/// Runs `body` in a process where no other test opens descriptors or sends
/// signals, after `prefix`. `name` is the test's full name.
pub fn alone(name: &str, prefix: &str, body: impl FnOnce()) {
    if is_alone(name) {
        return body();
    }
    let output = run_alone(name, prefix);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
    );
}

/// The prefix that changes nothing.
pub const PLAIN: &str = r#"exec "$@""#;
