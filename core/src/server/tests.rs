//! A server over a desk of scripted sockets: what went wrong once, and what it does in a turn. The simulation does the rest.

mod edges;
mod turns;

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec::Vec;

use super::{Accept, Client, Complaint, Host, Server, Settings};
use crate::buffers::Buffers;
use crate::drive::{Io, Transport};
use crate::numbered::NumberedEcho;
use crate::slots::Slot;
use crate::time::Time;
use crate::token::Token;
use crate::wants::Interest;

/// Both ends of a connection.
#[derive(Debug, Default)]
struct Line {
    /// What the client sent and was not received.
    input: Vec<u8>,
    /// It sends no more behind that.
    ended: bool,
    /// The client takes no bytes.
    stuck: bool,
    /// The poller refuses to watch it otherwise.
    unwatchable: bool,
    received: Vec<u8>,
    watched: Option<(Token, Interest)>,
    /// How often the poller was told what to watch it for.
    told: u32,
}

type Lines = Rc<RefCell<BTreeMap<usize, Line>>>;

struct Socket(usize, Lines);

impl Transport for Socket {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        let mut lines = self.1.borrow_mut();
        let Line { input, ended, .. } = lines.get_mut(&self.0).unwrap();
        let count = input.len().min(space.len());
        space[..count].copy_from_slice(&input[..count]);
        input.drain(..count);
        match count {
            0 if *ended => Io::End,
            0 => Io::WouldBlock,
            _ => Io::Moved(count),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        let mut lines = self.1.borrow_mut();
        let line = lines.get_mut(&self.0).unwrap();
        if line.stuck {
            return Io::WouldBlock;
        }
        line.received.extend(bytes);
        Io::Moved(bytes.len())
    }

    fn shutdown_write(&mut self) {}
}

/// A host with so many pairs of buffers, to whose listener clients come one after the other.
struct Desk {
    lines: Lines,
    came: usize,
    pairs: Vec<Buffers<64>>,
    /// Clients that were counted in and not out.
    inside: usize,
    /// The next guarded call is one that panics.
    panics: bool,
    /// No protocol can be made.
    barren: bool,
    complaints: Vec<Complaint>,
}

impl Host<64> for Desk {
    type Socket = Socket;
    type Peer = ();
    type Protocol = NumberedEcho;
    type Buffers = Buffers<64>;

    fn accept(&mut self, _: usize) -> Accept<Socket, ()> {
        if self.came == self.lines.borrow().len() {
            return Accept::WouldBlock;
        }
        self.came += 1;
        Accept::Client(Socket(self.came - 1, self.lines.clone()), ())
    }

    fn protocol(&mut self, (): &()) -> Option<NumberedEcho> {
        (!self.barren).then(NumberedEcho::new)
    }

    fn enter(&mut self, limit: Option<u32>, open: u64) -> bool {
        let enters = limit.is_none_or(|limit| open < u64::from(limit));
        self.inside += usize::from(enters);
        enters
    }

    fn leave(&mut self) {
        self.inside -= 1;
    }

    fn guard<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        let done = work();
        (!self.panics).then_some(done)
    }

    fn complain(&mut self, complaint: Complaint) {
        self.complaints.push(complaint);
    }

    fn watch(&mut self, socket: &Socket, token: Token, interest: Interest) -> bool {
        let mut lines = self.lines.borrow_mut();
        let line = lines.get_mut(&socket.0).unwrap();
        line.watched = Some((token, interest));
        line.told += 1;
        !line.unwatchable
    }

    fn rewatch(&mut self, socket: &Socket, token: Token, interest: Interest) -> bool {
        self.watch(socket, token, interest)
    }

    fn unwatch(&mut self, socket: &Socket, _: Token) {
        self.lines.borrow_mut().get_mut(&socket.0).unwrap().watched = None;
    }

    fn watch_listeners(&mut self, _: bool) {}

    fn take_buffers(&mut self) -> Option<Buffers<64>> {
        self.pairs.pop()
    }

    fn return_buffers(&mut self, buffers: Buffers<64>) {
        self.pairs.push(buffers);
    }
}

impl Desk {
    fn new(clients: usize, pairs: usize) -> Self {
        let lines: Lines = Rc::new(RefCell::new((0..clients).map(|number| (number, Line::default())).collect()));
        let pairs = (0..pairs).map(|_| Buffers::new()).collect();
        Self { lines, came: 0, pairs, inside: 0, panics: false, barren: false, complaints: Vec::new() }
    }
}

/// A server with four slots and `pairs` pairs of buffers, and clients that were all greeted.
struct Scene {
    server: Server<Desk, [Slot<Client<Desk, 64>>; 4], 64>,
    desk: Desk,
}

const NOW: Time = Time::from_ms(1_000);

impl Scene {
    fn new(clients: usize, pairs: usize) -> Self {
        Self::with(clients, pairs, Settings::default())
    }

    fn with(clients: usize, pairs: usize, settings: Settings) -> Self {
        let desk = Desk::new(clients, pairs);
        let storage = [const { Slot::new() }; 4];
        let mut scene = Self { server: Server::new(storage, settings), desk };
        scene.server.accept(&mut scene.desk, 0, NOW);
        scene
    }

    fn line(&self, client: usize) -> RefMut<'_, Line> {
        RefMut::map(self.desk.lines.borrow_mut(), |lines| lines.get_mut(&client).unwrap())
    }

    fn token(&self, client: usize) -> Token {
        self.line(client).watched.unwrap().0
    }

    /// The client sends, and the poller says so.
    fn client_sends(&mut self, client: usize, bytes: &[u8]) {
        self.line(client).input.extend(bytes);
        self.is_readable(client);
    }

    fn is_readable(&mut self, client: usize) {
        let token = self.token(client);
        self.server.event(&mut self.desk, token, true, false, false, NOW);
    }

    fn is_writable(&mut self, client: usize) {
        let token = self.token(client);
        self.server.event(&mut self.desk, token, false, true, false, NOW);
    }

    fn hangs_up(&mut self, client: usize) {
        let token = self.token(client);
        self.server.event(&mut self.desk, token, false, false, true, NOW);
    }

    fn is_gone(&self, client: usize) -> bool {
        self.line(client).watched.is_none()
    }

    fn run_until_it_would_sleep(&mut self) {
        let mut turns = 0;
        loop {
            self.server.run(&mut self.desk, NOW);
            if !self.server.must_not_sleep() {
                return;
            }
            turns += 1;
            assert!(turns < 100, "it never sleeps");
        }
    }
}

/// A push lent a pair to a client that waited for one. It went on waiting all the same, took the next turn that a pair
/// was there for, and so the pair lay about while others starved.
#[test]
fn who_got_buffers_by_a_push_waits_for_none() {
    let mut scene = Scene::new(4, 2);
    let [holder, other_holder, pushed, starved] = [0, 1, 2, 3];
    scene.client_sends(holder, b"half a li");
    scene.client_sends(other_holder, b"half a li");
    scene.client_sends(starved, b"one\n");
    scene.client_sends(pushed, b"two\n");
    scene.run_until_it_would_sleep();
    assert_eq!(scene.line(starved).watched.unwrap().1, Interest::None, "there are no buffers for it");

    scene.client_sends(holder, b"ne\n");
    scene.line(pushed).stuck = true;
    let token = scene.token(pushed);
    let _ = scene.server.push(&mut scene.desk, token, b"news\n", NOW);
    scene.run_until_it_would_sleep();
    scene.client_sends(other_holder, b"ne\n");
    scene.run_until_it_would_sleep();
    assert_eq!(scene.line(starved).received, b"ready\n1: one\n");
}

/// The buffers of a client that could not be watched any more came back before it was closed, and nobody was told.
#[test]
fn buffers_of_a_client_that_cannot_be_watched_go_to_who_waits() {
    let mut scene = Scene::new(2, 1);
    let [holder, starved] = [0, 1];
    scene.line(holder).stuck = true;
    scene.client_sends(holder, b"one\n");
    scene.client_sends(starved, b"two\n");
    scene.run_until_it_would_sleep();
    assert_eq!(scene.line(starved).watched.unwrap().1, Interest::None, "there are no buffers for it");

    scene.line(holder).stuck = false;
    scene.line(holder).unwatchable = true;
    scene.is_writable(holder);
    scene.run_until_it_would_sleep();
    assert!(scene.is_gone(holder));
    assert_eq!(scene.line(starved).received, b"ready\n1: two\n");
}

/// Protocols that panicked while they were dropped at an end at once ended the program in the middle of it.
#[test]
fn an_end_at_once_leaves_nobody_whatever_panics() {
    let settings = Settings { max_connections: Some(2), ..Settings::default() };
    let mut scene = Scene::with(3, 2, settings);
    assert_eq!((scene.desk.inside, scene.desk.pairs.len()), (2, 2), "the third one lingers, refused");
    scene.client_sends(0, b"half a li");
    scene.desk.panics = true;
    scene.server.abandon(&mut scene.desk);
    assert_eq!(scene.desk.inside, 0);
    let lines = scene.desk.lines.borrow();
    assert!(lines.values().all(|line| line.watched.is_none()), "closed, and watched still");
    assert_eq!(Rc::strong_count(&scene.desk.lines), 1, "a socket is left");
}

/// A function that came with a push panicked, and the whole server with it.
#[test]
fn what_is_told_and_panics_loses_nobody_and_is_said() {
    let mut scene = Scene::new(1, 1);
    let mut told = 0;
    scene.server.tell(&mut scene.desk, NOW, || told += 1);
    assert_eq!((told, scene.desk.complaints.len()), (1, 0));
    scene.desk.panics = true;
    scene.server.tell(&mut scene.desk, NOW, || told += 1);
    assert_eq!((told, &scene.desk.complaints[..]), (2, &[Complaint::ProtocolPanicked][..]));
    scene.desk.panics = false;
    scene.client_sends(0, b"one\n");
    assert_eq!(scene.line(0).received, b"ready\n1: one\n");
}
