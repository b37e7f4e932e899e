//! The numbered echo as one writes it with tokio: `LinesCodec`, a task a connection, one thread.
//!
//! Not part of what ships: a server to compare with. Replies are flushed when no further line has come, so that it
//! makes no more system calls than it must.

use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Framed, LinesCodec, LinesCodecError};

#[path = "support/listen.rs"]
mod listen;

/// The longest line that the protocol takes.
const LINE_BYTES_MAX: usize = 4095;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    serve_all(listen::announce().await?).await
}

/// Serves every client of `listener`.
pub async fn serve_all(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        // A client's error ends its connection only.
        tokio::spawn(async move { serve(socket).await.ok() });
    }
}

async fn serve(socket: TcpStream) -> Result<(), LinesCodecError> {
    let mut framed = Framed::new(socket, LinesCodec::new_with_max_length(LINE_BYTES_MAX));
    framed.send("ready").await?;
    let mut number = 0_u64;
    loop {
        let line = match framed.next().now_or_never() {
            Some(line) => line,
            None => {
                SinkExt::<String>::flush(&mut framed).await?;
                framed.next().await
            }
        };
        match line {
            Some(Ok(line)) if line == "quit" => {
                framed.feed("bye").await?;
                break;
            }
            Some(Ok(line)) => {
                number += 1;
                framed.feed(format!("{number}: {line}")).await?;
            }
            Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                framed.feed("line too long").await?;
                break;
            }
            Some(Err(error)) => return Err(error),
            None => break,
        }
    }
    SinkExt::<String>::close(&mut framed).await
}
