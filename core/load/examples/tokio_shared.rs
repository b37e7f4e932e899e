//! The numbered echo on tokio, as lean as it gets there: one thread, and one pair of buffers that all tasks share.
//!
//! Not part of what ships: a server to compare with. A task takes the buffers only between two awaits; a connection
//! has bytes of its own only while a line is half received or a reply is unsent.

use std::cell::RefCell;
use std::io::{ErrorKind, Write};
use std::rc::Rc;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

#[path = "support/listen.rs"]
mod listen;

/// The longest line that the protocol takes.
const LINE_BYTES_MAX: usize = 4095;

const BUFFER_BYTES: usize = 4096;

/// What is in use only while a task runs.
struct Shared {
    input: [u8; BUFFER_BYTES],
    output: Vec<u8>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    serve_all(listen::announce().await?).await
}

/// Serves every client of `listener`.
pub async fn serve_all(listener: TcpListener) -> std::io::Result<()> {
    LocalSet::new().run_until(accept(listener)).await
}

async fn accept(listener: TcpListener) -> std::io::Result<()> {
    let output = Vec::with_capacity(2 * BUFFER_BYTES);
    let shared = Rc::new(RefCell::new(Shared { input: [0; BUFFER_BYTES], output }));
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let shared = Rc::clone(&shared);
        // A client's error ends its connection only.
        tokio::task::spawn_local(async move { serve(socket, &shared).await.ok() });
    }
}

async fn serve(mut socket: TcpStream, shared: &RefCell<Shared>) -> std::io::Result<()> {
    socket.write_all(b"ready\n").await?;
    let mut conversation = Conversation { number: 0, half: Vec::new() };
    loop {
        socket.readable().await?;
        let (ends, unsent) = {
            let Shared { input, output } = &mut *shared.borrow_mut();
            let count = match socket.try_read(input) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            };
            output.clear();
            let ends = count == 0 || conversation.take(&input[..count], output);
            let sent = match socket.try_write(output) {
                Ok(sent) => sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error),
            };
            (ends, output[sent..].to_vec())
        };
        socket.write_all(&unsent).await?;
        if ends {
            return socket.shutdown().await;
        }
    }
}

/// One client's lines.
struct Conversation {
    number: u64,
    half: Vec<u8>,
}

impl Conversation {
    /// Takes the next bytes and appends the replies; whether the conversation is over.
    fn take(&mut self, mut bytes: &[u8], output: &mut Vec<u8>) -> bool {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            let ends = if self.half.is_empty() {
                self.answer(line, output)
            } else {
                let mut whole = std::mem::take(&mut self.half);
                whole.extend_from_slice(line);
                self.answer(&whole, output)
            };
            if ends {
                return true;
            }
        }
        self.half.extend_from_slice(bytes);
        self.half.len() > LINE_BYTES_MAX && self.answer_too_long(output)
    }

    fn answer(&mut self, line: &[u8], output: &mut Vec<u8>) -> bool {
        if line.len() > LINE_BYTES_MAX {
            return self.answer_too_long(output);
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line == b"quit" {
            output.extend_from_slice(b"bye\n");
            return true;
        }
        self.number += 1;
        // Writing to a vector cannot fail.
        let _ = write!(output, "{}: ", self.number);
        output.extend_from_slice(line);
        output.push(b'\n');
        false
    }

    fn answer_too_long(&mut self, output: &mut Vec<u8>) -> bool {
        output.extend_from_slice(b"line too long\n");
        true
    }
}
