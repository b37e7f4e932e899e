//! The server of a superloop: several sockets, fewer pairs of buffers. Nothing in here needs an allocator.

use evserver_core::{
    Buffers, CloseReason, Connection, Interest, Limits, NumberedEcho, Readiness, TURN_BYTES, Time, Turn, drive,
};
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::Socket;
use smoltcp::time::Duration;

use crate::wire::Wire;

/// Where the server listens.
pub const PORT: u16 = 7;

/// With fewer pairs of buffers than sockets there must be a limit for a line: who sends half of one keeps a pair.
pub const LIMITS: Limits = Limits { line_ms: 10_000, ..Limits::new() };

/// How long a peer may take to acknowledge the end of a connection that is over.
const VANISHED: Duration = Duration::from_secs(10);

/// Some sockets that listen on one port, and some pairs of buffers that they take turns with.
pub struct Server<'b, const SOCKETS: usize, const PAIRS: usize> {
    places: [Place<'b>; SOCKETS],
    spare: [Option<&'b mut Buffers>; PAIRS],
    /// Who is asked first. The order moves on, so that nobody waits for buffers for ever.
    first: usize,
    /// Turns in which a connection had to wait for buffers.
    pub waits: u64,
}

/// A socket, and the connection on it if there is one.
struct Place<'b> {
    handle: SocketHandle,
    connection: Option<Connection<NumberedEcho, &'b mut Buffers>>,
}

impl<'b, const SOCKETS: usize, const PAIRS: usize> Server<'b, SOCKETS, PAIRS> {
    pub fn new(handles: [SocketHandle; SOCKETS], pairs: &'b mut [Buffers; PAIRS]) -> Self {
        let places = handles.map(|handle| Place { handle, connection: None });
        Self { places, spare: pairs.each_mut().map(Some), first: 0, waits: 0 }
    }

    /// Gives every socket its turn, after each poll of the stack. Says whether there is more to do at once.
    pub fn turn(&mut self, sockets: &mut SocketSet<'_>, now: Time) -> bool {
        let mut again = false;
        self.first = (self.first + 1) % SOCKETS;
        let (later, sooner) = self.places.split_at_mut(self.first);
        for place in sooner.iter_mut().chain(later) {
            let socket = sockets.get_mut::<Socket>(place.handle);
            match &mut place.connection {
                Some(_) => match place.turn(socket, &mut self.spare, now) {
                    Turn::Again => again = true,
                    Turn::Lend => self.waits += 1,
                    Turn::Waiting | Turn::Closed(_) => {}
                },
                None if !socket.is_open() => {
                    // The last connection on it is over.
                    socket.set_timeout(None);
                    socket.listen(PORT).expect("a socket that is not open can listen on a port that is not 0");
                }
                None if socket.may_send() => {
                    place.connection = Some(Connection::new(NumberedEcho::new(), &LIMITS, now));
                    again = true;
                }
                None => {}
            }
        }
        again
    }

    /// When there is something to do although nothing comes: the board may sleep until then.
    pub fn deadline(&self) -> Option<Time> {
        self.places.iter().filter_map(|place| place.connection.as_ref()?.deadline()).min()
    }
}

impl<'b> Place<'b> {
    /// The drive loop's turn; the numbers are those of `Connection`'s documentation. `Lend` means that it has work and
    /// there are no buffers for it.
    fn turn(&mut self, socket: &mut Socket<'_>, spare: &mut [Option<&'b mut Buffers>], now: Time) -> Turn {
        let Some(connection) = &mut self.connection else { return Turn::Waiting };
        let is_due = connection.deadline().is_some_and(|deadline| deadline <= now);
        let readable = socket.can_recv() || !socket.may_recv() || is_due;
        // 1. Who waits for input gets buffers when some has come.
        let idle = connection.interest() == Interest::Read && !readable;
        if !connection.has_buffers() && !idle {
            match spare.iter_mut().find_map(Option::take) {
                Some(buffers) => connection.lend(buffers, now),
                None if !is_due => return Turn::Lend,
                None => {}
            }
        }
        // 2, 3, 4 and 7.
        let mut readiness = Readiness { readable, ..Readiness::NONE };
        let mut turn = drive(connection, &mut Wire(socket), &mut readiness, now, TURN_BYTES);
        if is_due {
            connection.handle_timeout(now);
            turn = drive(connection, &mut Wire(socket), &mut readiness, now, TURN_BYTES);
        }
        // 6.
        if let Some(buffers) = connection.reclaim()
            && let Some(place) = spare.iter_mut().find(|place| place.is_none())
        {
            *place = Some(buffers);
        }
        match turn {
            // 5.
            Turn::Closed(reason) => {
                self.connection = None;
                close(socket, reason);
            }
            // It is idle.
            Turn::Lend => return Turn::Waiting,
            Turn::Waiting | Turn::Again => {}
        }
        turn
    }
}

/// Closes a socket as a system's own would be closed: what it took still leaves.
fn close(socket: &mut Socket<'_>, reason: CloseReason) {
    socket.close();
    // A peer that does not end its side would have the socket for as long as it likes.
    if reason.is_timeout() || socket.may_recv() {
        socket.abort();
    }
    // One that vanished would have it for ever.
    socket.set_timeout(Some(VANISHED));
}
