//! Waiting for a socket or a bell: poll(2), the same call on every system.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use evserver_core::{Interest, Readiness};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bell::Bell;

/// The longest single wait, a day: where poll's timeout is an `int` of milliseconds, 25 days do not fit.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// What to wait for on a client's socket. Errors and a hang-up are reported unasked.
pub fn flags(interest: Interest) -> PollFlags {
    match interest {
        Interest::None => PollFlags::empty(),
        Interest::Read => PollFlags::IN,
        Interest::Write => PollFlags::OUT,
    }
}

/// What poll said of a client's socket, for [`drive`](evserver_core::drive()).
pub fn readiness(said: PollFlags) -> Readiness {
    let hangup = said.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
    Readiness {
        readable: hangup || said.contains(PollFlags::IN),
        // Output is tried at once all the same.
        writable: true,
        hangup,
        until_would_block: false,
    }
}

/// Waits until a client's socket is ready, the bell rings, or the time is over.
pub fn wait(
    stream: &TcpStream,
    interest: Interest,
    bell: &Bell,
    timeout: Option<Duration>,
) -> io::Result<Readiness> {
    let mut fds = [PollFd::new(stream, flags(interest)), PollFd::new(bell, PollFlags::IN)];
    wait_for(&mut fds, timeout)?;
    Ok(readiness(fds[0].revents()))
}

/// Waits until one of them is ready or the time is over; a signal handler that ran ends the wait too.
///
/// # Errors
/// Those of poll(2) other than EINTR: no memory, or more descriptors than the limit.
pub fn wait_for(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(|timeout| whole_milliseconds(timeout.min(LONGEST_WAIT)));
    let timeout = timeout.map(|time| Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ });
    match poll(fds, timeout.as_ref()) {
        Ok(_) => Ok(()),
        Err(rustix::io::Errno::INTR) => {
            // What poll writes to them then is not said.
            fds.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Rounds up: cut to less, the last part of a millisecond would be waited out by polling at full speed.
fn whole_milliseconds(time: Duration) -> Duration {
    const MS: u32 = 1_000_000;
    match time.subsec_nanos() % MS {
        0 => time,
        rest => time + Duration::from_nanos(u64::from(MS - rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Instant;

    const LONG: Option<Duration> = Some(Duration::from_secs(60));

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, client)
    }

    #[test]
    fn data_the_bell_and_the_time_each_end_a_wait() {
        let (ours, mut theirs) = pair();
        let bell = Bell::new().unwrap();
        let before = Instant::now();
        let short = Duration::from_micros(20_300);
        assert!(!wait(&ours, Interest::Read, &bell, Some(short)).unwrap().readable);
        assert!(before.elapsed() >= short);
        theirs.write_all(b"x").unwrap();
        let ready = wait(&ours, Interest::Read, &bell, LONG).unwrap();
        assert!(ready.readable && !ready.hangup);
        bell.ring();
        assert!(!wait(&ours, Interest::None, &bell, LONG).unwrap().readable, "only the bell ended it");
    }

    #[test]
    fn a_reset_is_reported_unasked() {
        let (ours, mut theirs) = pair();
        let bell = Bell::new().unwrap();
        theirs.write_all(b"x").unwrap();
        // To close with input unread resets; nothing else can end the wait.
        let mut greeting = &ours;
        greeting.write_all(b"unread").unwrap();
        wait(&theirs, Interest::Read, &bell, LONG).unwrap();
        drop(theirs);
        assert!(wait(&ours, Interest::None, &bell, LONG).unwrap().hangup);
    }

    #[test]
    fn an_error_is_something_to_receive() {
        let trouble = Readiness { readable: true, hangup: true, ..Readiness::NONE };
        for said in [PollFlags::ERR, PollFlags::HUP, PollFlags::NVAL] {
            assert_eq!(readiness(said), trouble, "{said:?}");
        }
        assert_eq!(readiness(PollFlags::IN), Readiness { readable: true, ..Readiness::NONE });
        assert_eq!(readiness(PollFlags::OUT), Readiness::NONE);
    }

    #[test]
    fn milliseconds_round_up() {
        for (nanos, ms) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(whole_milliseconds(Duration::from_nanos(nanos)), Duration::from_millis(ms));
        }
    }
}
