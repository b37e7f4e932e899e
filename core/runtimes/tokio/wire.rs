//! The core's transport on a stream of tokio.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use evserver_core::{Interest, Io, Time, Transport};
use evserver_hosted::moved;
use evserver_runtimes::Clock;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A stream, and whom to ask what it has received.
pub struct Wire {
    stream: TcpStream,
    clock: Clock,
    /// Ask the kernel itself. The runtime knows what its last wait told it, and holds back a task that had its share.
    pub ask_the_kernel: bool,
}

impl Wire {
    pub fn new(stream: TcpStream, clock: Clock) -> Wire {
        Wire { stream, clock, ask_the_kernel: false }
    }

    /// Waits until a transfer may succeed. An error shows at the transfer.
    pub async fn ready(&self, interest: Interest) {
        let _ = match interest {
            Interest::Read => self.stream.readable().await,
            Interest::Write => self.stream.writable().await,
            Interest::None => std::future::pending().await,
        };
    }
}

impl Transport for Wire {
    fn receive(&mut self, space: &mut [u8]) -> Io {
        let received = if self.ask_the_kernel {
            (&*SockRef::from(&self.stream)).read(space)
        } else {
            let mut space = ReadBuf::new(space);
            let polled = Pin::new(&mut self.stream).poll_read(&mut at_once(), &mut space);
            or_would_block(polled).map(|()| space.filled().len())
        };
        match received {
            Ok(0) => Io::End,
            received => moved(received),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Io {
        moved(or_would_block(Pin::new(&mut self.stream).poll_write(&mut at_once(), bytes)))
    }

    fn shutdown_write(&mut self) {
        let _ = Pin::new(&mut self.stream).poll_shutdown(&mut at_once());
    }

    /// Another task may have run for long since the turn began.
    fn now(&self, _: Time) -> Time {
        self.clock.stamp()
    }
}

/// To poll what is not waited for: [`Wire::ready`] waits.
fn at_once() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn or_would_block<T>(polled: Poll<io::Result<T>>) -> io::Result<T> {
    match polled {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}
