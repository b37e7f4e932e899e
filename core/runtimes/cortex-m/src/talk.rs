//! The drive loop: what a device without an operating system has to bring.

use evserver_core::{
    Action, Buffers, CloseReason, Connection, Interest, Io, Limits, NumberedEcho, Time, Transport,
};

/// A transport on which the processor can wait.
pub trait Wire: Transport {
    /// Sleeps until the wire is ready, or until the deadline.
    fn wait(&mut self, interest: Interest, deadline: Option<Time>) -> Event;
}

/// Why the processor woke up.
pub enum Event {
    /// What was waited for can be tried now.
    Ready(Time),
    /// The deadline came first.
    Deadline(Time),
}

/// Serves one peer from the greeting to the end. The numbers are those of `Connection`'s documentation.
#[inline(never)]
pub fn talk(wire: &mut impl Wire, buffers: &mut Buffers) -> CloseReason {
    let mut now = Time::from_ms(0);
    let mut readable = false;
    let mut spare = Some(buffers);
    let echo = NumberedEcho::counting_from(if cfg!(feature = "deliberate-difference") { 1 } else { 0 });
    let mut connection = Connection::<_, &mut Buffers>::new(echo, &Limits::new(), now);
    loop {
        let outcome = match connection.action() {
            // An idle connection: the device has its buffers back for another one.
            Action::Lend if connection.interest() == Interest::Read && !readable => Io::WouldBlock,
            // 1.
            Action::Lend => {
                if let Some(buffers) = spare.take() {
                    connection.lend(buffers, now);
                }
                continue;
            }
            // 2.
            Action::Send => {
                let outcome = wire.send(connection.transmit());
                if let Io::Moved(n) = outcome {
                    connection.transmitted(n, now);
                }
                outcome
            }
            // 3.
            Action::Receive => {
                let outcome = wire.receive(connection.receive_space());
                match outcome {
                    Io::Moved(n) => connection.received(n, now),
                    Io::End => connection.received_end(now),
                    Io::WouldBlock | Io::Interrupted | Io::Failed => readable = false,
                }
                outcome
            }
            // 4.
            Action::ShutdownWrite => {
                wire.shutdown_write();
                connection.write_shut(now);
                continue;
            }
            // 5.
            Action::Close(reason) => return reason,
            Action::Wait => Io::WouldBlock,
        };
        match outcome {
            Io::Moved(_) | Io::End | Io::Interrupted => {}
            // 6.
            Io::WouldBlock => {
                spare = connection.reclaim().or(spare);
                match wire.wait(connection.interest(), connection.deadline()) {
                    Event::Ready(moment) => (now, readable) = (moment, true),
                    Event::Deadline(moment) => {
                        now = moment;
                        connection.handle_timeout(now);
                    }
                }
            }
            // 7.
            Io::Failed => connection.failed(),
        }
    }
}
