//! A server over a host that has only what it must, and a listener that does what a test wants.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use evserver_core::{
    Accept, Buffers, Client, Host, Interest, Io, Late, Next, NoRoom, NumberedEcho, Protocol, Reply,
    STEPS_IN_A_TURN, Server, Settings, Slot, Storage, TURN_BYTES, Ticket, Time, Token, Transport,
};

const NOW: Time = Time::from_ms(10_000);

/// What the clients do that a socket leads to.
#[derive(Default)]
struct Far {
    floods: Cell<bool>,
    /// Bytes that came from them.
    sent: Cell<usize>,
}

/// A socket that takes everything and brings nothing, or floods.
struct Socket(Rc<Far>);

impl Transport for Socket {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        if !self.0.floods.get() {
            return Io::WouldBlock;
        }
        self.0.sent.update(|sent| sent + space.len());
        Io::Moved(space.len())
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        Io::Moved(bytes.len())
    }

    fn shutdown_write(&mut self) {}
}

/// Panics as soon as it is asked something.
struct Panics;

impl Protocol for Panics {
    fn room(&self, len: usize) -> usize {
        len
    }

    fn open(&mut self, _: &mut Reply<'_>) -> Next {
        // Without the message of a panic that nobody expects.
        resume_unwind(Box::new("as it was told"))
    }

    fn line(&mut self, _: &[u8], _: &mut Reply<'_>) -> Next {
        Next::Line
    }
}

/// Who comes next; then nobody waits.
#[derive(Clone, Copy)]
enum Comes {
    Client,
    Nobody,
}

struct Sparse<P = NumberedEcho> {
    queue: VecDeque<Comes>,
    protocol: Box<dyn FnMut() -> P>,
    /// What was said of the listeners.
    listens: Vec<bool>,
    /// The system refuses to watch them.
    is_deaf: bool,
    has_buffers: bool,
    /// Who was watched last, and what for.
    watched: Option<(Token, Interest)>,
    far: Rc<Far>,
}

impl<P> Sparse<P> {
    fn new(protocol: impl FnMut() -> P + 'static) -> Self {
        let (queue, listens, far) = Default::default();
        let protocol = Box::new(protocol);
        Self { queue, protocol, listens, is_deaf: false, has_buffers: true, watched: None, far }
    }

    fn with(mut self, times: usize, comes: Comes) -> Self {
        self.queue.extend(std::iter::repeat_n(comes, times));
        self
    }

    fn token(&self) -> Token {
        self.watched.expect("a client is watched").0
    }
}

impl<P: Protocol> Host for Sparse<P> {
    type Socket = Socket;
    type Peer = ();
    type Protocol = P;
    type Buffers = Box<Buffers>;

    fn accept(&mut self, _: usize) -> Accept<Socket, ()> {
        match self.queue.pop_front() {
            Some(Comes::Client) => Accept::Client(Socket(Rc::clone(&self.far)), ()),
            Some(Comes::Nobody) => Accept::Dropped,
            None => Accept::WouldBlock,
        }
    }

    fn protocol(&mut self, (): &()) -> Option<P> {
        Some((self.protocol)())
    }

    fn watch(&mut self, _: &Socket, token: Token, interest: Interest) -> bool {
        self.watched = Some((token, interest));
        true
    }

    fn rewatch(&mut self, socket: &Socket, token: Token, interest: Interest) -> bool {
        self.watch(socket, token, interest)
    }

    fn unwatch(&mut self, _: &Socket, _: Token) {}

    fn watch_listeners(&mut self, on: bool) {
        self.listens.push(on);
    }

    fn listens(&self) -> bool {
        !self.is_deaf
    }

    fn take_buffers(&mut self) -> Option<Box<Buffers>> {
        self.has_buffers.then(Box::default)
    }

    fn return_buffers(&mut self, _: Box<Buffers>) {}

    fn guard<R>(&mut self, work: impl FnOnce() -> R) -> Option<R> {
        catch_unwind(AssertUnwindSafe(work)).ok()
    }
}

type Place<P = NumberedEcho> = Slot<Client<Sparse<P>, 4096>>;

/// A table of so many places.
fn server<P: Protocol, const K: usize>(settings: Settings) -> Server<Sparse<P>, [Place<P>; K]> {
    Server::new(std::array::from_fn(|_| Slot::default()), settings)
}

fn echo() -> Sparse {
    Sparse::new(NumberedEcho::new)
}

#[test]
fn a_limit_holds_for_those_that_this_server_serves() {
    let mut server = server::<_, 8>(Settings { max_connections: Some(2), ..Settings::default() });
    let mut host = echo().with(3, Comes::Client);
    server.accept(&mut host, 0, NOW);
    assert_eq!((server.counts().served, server.counts().open, server.counts().refused), (2, 2, 1));
}

#[test]
fn who_comes_when_the_table_is_full_waits() {
    let mut server = server::<_, 2>(Settings::default());
    let mut host = echo().with(3, Comes::Client);
    server.accept(&mut host, 0, NOW);
    assert_eq!((server.counts().open, server.counts().refused, host.queue.len()), (2, 0, 1));
    assert_eq!(host.listens, [false]);
}

/// Promises a place more than it has.
struct Boastful([Place; 1]);

impl Storage<Client<Sparse, 4096>> for Boastful {
    fn capacity(&self) -> u32 {
        2
    }

    fn slot(&self, index: u32) -> Option<&Place> {
        self.0.slot(index)
    }

    fn slot_mut(&mut self, index: u32) -> Option<&mut Place> {
        self.0.slot_mut(index)
    }
}

#[test]
fn a_table_that_has_less_than_it_promised_drops_a_client_and_takes_no_more() {
    for max_connections in [None, Some(1)] {
        let settings = Settings { max_connections, ..Settings::default() };
        let mut server = Server::new(Boastful([Slot::default()]), settings);
        let mut host = echo().with(3, Comes::Client);
        server.accept(&mut host, 0, NOW);
        assert_eq!((server.counts().open, host.queue.len(), &host.listens[..]), (1, 1, &[false][..]));
    }
}

#[test]
fn a_listener_that_brings_nothing_but_errors_rests_and_is_tried_again() {
    let mut server = server::<_, 2>(Settings::default());
    // As many in a row as the largest listen queue holds.
    let mut host = echo().with(4096, Comes::Nobody);
    for _ in 0..4096 / STEPS_IN_A_TURN {
        assert_eq!(host.listens, []);
        server.accept(&mut host, 0, NOW);
    }
    assert_eq!((host.queue.len(), &host.listens[..]), (0, &[false][..]));
    server.run(&mut host, NOW.after(999));
    assert_eq!(host.listens, [false]);
    server.run(&mut host, NOW.after(1_000));
    assert_eq!(host.listens, [false, true]);
}

#[test]
fn a_client_among_errors_is_a_sign_that_nothing_is_wrong_with_the_listener() {
    let mut server = server::<_, 2>(Settings::default());
    let mut host = echo().with(4095, Comes::Nobody).with(1, Comes::Client).with(4095, Comes::Nobody);
    // Interrupted or not: more shares than are needed.
    for _ in 0..=2 * 4096 / STEPS_IN_A_TURN {
        server.accept(&mut host, 0, NOW);
    }
    assert_eq!((server.counts().open, host.queue.len(), host.listens.len()), (1, 0, 0));
}

#[test]
fn listeners_that_cannot_be_watched_are_tried_again_every_second() {
    let mut server = server::<_, 2>(Settings::default());
    let mut host = Sparse { is_deaf: true, ..echo() };
    server.run(&mut host, NOW);
    assert_eq!((host.listens.as_slice(), server.next_deadline()), (&[false][..], Some(NOW.after(1_000))));
    server.run(&mut host, NOW.after(1_000));
    assert_eq!(host.listens, [false, true, false]);
    host.is_deaf = false;
    server.run(&mut host, NOW.after(2_000));
    assert_eq!((host.listens.as_slice(), server.next_deadline()), (&[false, true, false, true][..], None));
}

#[test]
fn a_shutdown_begins_once() {
    let mut server = server::<_, 2>(Settings::default());
    let mut host = echo().with(1, Comes::Client);
    server.drain(&mut host, 1, NOW);
    assert_eq!((server.counts().open, server.is_done()), (1, false));
    host.queue.push_back(Comes::Client);
    server.drain(&mut host, 1, NOW);
    server.accept(&mut host, 0, NOW);
    assert_eq!((server.counts().open, host.queue.len()), (1, 1));
    // Its last turn, then it lingers for what its client might still send.
    server.run(&mut host, NOW);
    server.run(&mut host, NOW.after(1_999));
    assert!(!server.is_done());
    server.run(&mut host, NOW.after(5_000));
    assert!(server.is_done());
}

#[test]
fn a_push_to_who_is_not_there_is_refused() {
    let mut server = server::<_, 2>(Settings::default());
    let mut host = echo().with(1, Comes::Client);
    server.accept(&mut host, 0, NOW);
    let gone = Token::from_bits(host.token().to_bits() + (1 << 32));
    assert_eq!(server.push(&mut host, gone, b"a", NOW), Err(NoRoom));
    let token = host.token();
    assert_eq!(server.push(&mut host, token, b"a", NOW), Ok(()));
}

/// Waits for an answer before it says anything.
struct Asks(Rc<Cell<Option<Ticket>>>);

impl Protocol for Asks {
    fn room(&self, len: usize) -> usize {
        len
    }

    fn open(&mut self, reply: &mut Reply<'_>) -> Next {
        let ticket = reply.ticket(1_000);
        self.0.set(Some(ticket));
        Next::Later(ticket)
    }

    fn line(&mut self, _: &[u8], _: &mut Reply<'_>) -> Next {
        Next::Line
    }
}

#[test]
fn an_answer_is_handed_over_once_to_who_asked_and_refused_when_nobody_waits() {
    let mut server = server::<_, 2>(Settings::default());
    let asked = Rc::new(Cell::new(None));
    let asks = Rc::clone(&asked);
    let mut host = Sparse::new(move || Asks(Rc::clone(&asks))).with(2, Comes::Client);
    server.accept(&mut host, 0, NOW);
    let ticket = asked.get().expect("the last one asked");
    assert_eq!(ticket.token(), host.token());
    let mut answers = 0;
    assert_eq!(server.complete(&mut host, ticket, NOW, |_| answers += 1), Ok(()));
    assert_eq!(server.complete(&mut host, ticket, NOW, |_| answers += 1), Err(Late));
    server.abandon(&mut host);
    assert_eq!(server.complete(&mut host, ticket, NOW, |_| answers += 1), Err(Late));
    assert_eq!(answers, 1);
}

#[test]
fn a_protocol_that_panics_while_something_is_pushed_loses_its_own_connection() {
    let mut server = server::<_, 2>(Settings::default());
    // It waits for buffers, and greets when it has some.
    let mut host = Sparse { has_buffers: false, ..Sparse::new(|| Panics) }.with(1, Comes::Client);
    server.accept(&mut host, 0, NOW);
    assert_eq!((server.counts().open, server.counts().panicked), (1, 0));
    host.has_buffers = true;
    let token = host.token();
    assert_eq!(server.push(&mut host, token, b"a", NOW), Err(NoRoom));
    assert_eq!((server.counts().open, server.counts().panicked), (0, 1));
}

#[test]
fn a_hang_up_while_there_are_no_buffers_is_the_end_where_it_would_be_reported_for_ever() {
    for edge_triggered in [false, true] {
        let mut server = server::<_, 2>(Settings { edge_triggered, ..Settings::default() });
        let mut host = Sparse { has_buffers: false, ..echo() }.with(1, Comes::Client);
        server.accept(&mut host, 0, NOW);
        assert_eq!(host.watched.map(|(_, interest)| interest), Some(Interest::None));
        let token = host.token();
        server.event(&mut host, token, false, false, true, NOW);
        assert_eq!(server.counts().open, u64::from(edge_triggered));
        assert_eq!(server.counts().failed, u64::from(!edge_triggered));
    }
}

#[test]
fn what_a_lingering_client_floods_is_discarded_without_buffers_a_share_at_a_time() {
    let mut server = server::<_, 2>(Settings::default());
    let mut host = echo().with(1, Comes::Client);
    server.accept(&mut host, 0, NOW);
    server.drain(&mut host, 1, NOW);
    server.run(&mut host, NOW);
    assert!(!server.must_not_sleep() && !server.is_done(), "it lingers");
    host.has_buffers = false;
    host.far.floods.set(true);
    let token = host.token();
    server.event(&mut host, token, true, false, false, NOW);
    assert!(server.must_not_sleep(), "there is more");
    assert_eq!(host.far.sent.get(), TURN_BYTES);
    host.far.floods.set(false);
    // What came up in a turn has its own in the next one.
    server.run(&mut host, NOW);
    server.run(&mut host, NOW);
    assert!(!server.must_not_sleep() && !server.is_done());
    server.run(&mut host, NOW.after(2_500));
    assert!(server.is_done(), "for two seconds");
}
