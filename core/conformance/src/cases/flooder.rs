//! A client that streams lines and reads the replies as fast as it can, in threads of its own, and checks every byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{Client, DEADLINE, NotPassed, Outcome, ensure};

/// One line of the stream.
const LINE: &[u8] = b"the line of a client that talks much: sixty bytes, LF last.\n";

/// Lines in one write.
const BATCH: usize = 200;

/// A flood is bounded: it ends by itself after so many bytes and so long.
const LIMIT_BYTES: u64 = 2 << 30;
const LIMIT: Duration = Duration::from_secs(60);

/// A running flood.
pub(super) struct Flooder {
    shared: Arc<Shared>,
    stream: TcpStream,
    writer: Option<JoinHandle<u64>>,
    reader: Option<JoinHandle<Result<u64, String>>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Bytes of right replies so far.
    moved: AtomicU64,
}

impl Flooder {
    pub(super) fn start(address: SocketAddr) -> Result<Flooder, NotPassed> {
        let client = Client::greeted(address)?;
        let stream = client.stream().try_clone()?;
        stream.set_read_timeout(Some(DEADLINE))?;
        stream.set_write_timeout(Some(DEADLINE))?;
        let shared = Arc::new(Shared::default());
        let writer = std::thread::spawn({
            let (stream, shared) = (stream.try_clone()?, shared.clone());
            move || write(&stream, &shared)
        });
        let reader = std::thread::spawn({
            let (stream, shared) = (stream.try_clone()?, shared.clone());
            move || read(&stream, &shared)
        });
        Ok(Flooder { shared, stream, writer: Some(writer), reader: Some(reader) })
    }

    /// Bytes of right replies so far.
    pub(super) fn moved(&self) -> u64 {
        self.shared.moved.load(Ordering::Relaxed)
    }

    /// Waits until so many bytes more have come.
    pub(super) fn moves_on(&self, bytes: u64) -> Outcome {
        let (start, before) = (Instant::now(), self.moved());
        while self.moved() < before + bytes {
            let over = self.reader.as_ref().is_none_or(JoinHandle::is_finished);
            ensure!(
                !over && start.elapsed() < DEADLINE,
                "a client that streams lines got {} bytes of replies in {:?}, then {}",
                self.moved() - before,
                start.elapsed(),
                if over { "its connection ended" } else { "nothing more" }
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Ends the stream after a whole line; every line must have been answered.
    pub(super) fn finish(mut self) -> Outcome {
        let (sent, answered) = self.join()?;
        ensure!(
            sent == answered,
            "a client streamed {sent} lines, ended its side and read to the end: it got {answered} replies"
        );
        Ok(())
    }

    /// After the server has ended the connection: what came are whole replies in order, and then a clean end.
    pub(super) fn cut_off(mut self) -> Outcome {
        self.join().map(|_| ())
    }

    fn join(&mut self) -> Result<(u64, u64), NotPassed> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let sent = self.writer.take().and_then(|writer| writer.join().ok());
        let answered = self.reader.take().and_then(|reader| reader.join().ok());
        match (sent, answered) {
            (Some(sent), Some(Ok(answered))) => Ok((sent, answered)),
            (_, Some(Err(text))) => Err(NotPassed::failed(format!("a client that streams lines: {text}"))),
            _ => Err(NotPassed::failed("the suite: a thread of the flood panicked")),
        }
    }
}

impl Drop for Flooder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Both threads wake and end; an error says that the connection is gone already.
        let _ = self.stream.shutdown(Shutdown::Both);
        let _ = self.join();
    }
}

/// Sends until it is stopped or the connection ends, and then its own end; gives the number of whole lines.
fn write(mut stream: &TcpStream, shared: &Shared) -> u64 {
    let batch = LINE.repeat(BATCH);
    let start = Instant::now();
    let mut batches = 0;
    while !shared.stop.load(Ordering::Relaxed)
        && start.elapsed() < LIMIT
        && batches * (batch.len() as u64) < LIMIT_BYTES
    {
        if stream.write_all(&batch).is_err() {
            break;
        }
        batches += 1;
    }
    // The server may have closed already; the reader tells.
    let _ = stream.shutdown(Shutdown::Write);
    batches * BATCH as u64
}

/// Reads to the end of the stream and compares; gives the number of replies.
fn read(mut stream: &TcpStream, shared: &Shared) -> Result<u64, String> {
    let mut block = vec![0; 1 << 16];
    let (mut number, mut expected, mut at) = (0, Vec::new(), 0);
    loop {
        let length = match stream.read(&mut block) {
            Ok(0) if at == expected.len() => return Ok(number),
            Ok(0) => return Err(format!("the stream ended within reply {number}")),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("receiving after reply {number}: {error}")),
        };
        let mut rest = &block[..length];
        while !rest.is_empty() {
            if at == expected.len() {
                number += 1;
                expected.clear();
                expected.extend_from_slice(format!("{number}: ").as_bytes());
                expected.extend_from_slice(LINE);
                at = 0;
            }
            let (now, later) = rest.split_at(rest.len().min(expected.len() - at));
            if now != &expected[at..at + now.len()] {
                return Err(format!("reply {number} is not right: {:?}", String::from_utf8_lossy(now)));
            }
            at += now.len();
            rest = later;
        }
        shared.moved.fetch_add(length as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Plays a server for one connection: what `reply` makes of the stream's first line is said, then the end.
    fn flood_against(reply: &'static [u8]) -> Outcome {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"ready\n").unwrap();
            stream.write_all(reply).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            // Until the client's end, so that nothing ends in a reset.
            while stream.read(&mut [0; 65_536]).is_ok_and(|length| length > 0) {}
        });
        let flooder = Flooder::start(address).unwrap();
        while !flooder.reader.as_ref().unwrap().is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let outcome = flooder.cut_off();
        server.join().unwrap();
        outcome
    }

    #[test]
    fn whole_replies_are_right_and_others_are_not() {
        assert_eq!(flood_against(b"1: the line of a client that talks much: sixty bytes, LF last.\n"), Ok(()));
        assert!(flood_against(b"1: the line of").is_err());
        assert!(flood_against(b"2: the line of a client that talks much: sixty bytes, LF last.\n").is_err());
    }
}
