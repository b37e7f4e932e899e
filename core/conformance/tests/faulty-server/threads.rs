//! One blocking thread a connection.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::fault::Fault;
use crate::talk::Talk;
use crate::{LINGER, Options, failed};

pub fn serve(listener: &TcpListener, options: Options) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        // A client that is gone already is no concern of the others'.
        let Ok((stream, _)) = listener.accept() else { continue };
        let open = Arc::clone(&open);
        let is_full = open.fetch_add(1, Ordering::Relaxed) >= options.most_connections;
        std::thread::spawn(move || {
            let result = if is_full { refuse(&stream, options) } else { converse(&stream, options) };
            if let Err(error) = result {
                failed(options, &error);
            }
            drop(stream);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn refuse(mut stream: &TcpStream, options: Options) -> Result<()> {
    stream.write_all(b"server full\n")?;
    linger(stream, options)
}

fn converse(mut stream: &TcpStream, options: Options) -> Result<()> {
    stream.set_nodelay(options.fault != Fault::DelaysReplies)?;
    let mut talk = Talk::new(options.fault);
    let mut buffer = vec![0; options.read_bytes()];
    let mut last = Instant::now();
    let mut ended = false;
    loop {
        talk.answer();
        if !talk.output.is_empty() {
            send(stream, &mut talk.output, &mut last, options)?;
        } else if talk.over {
            return if ended { Ok(()) } else { linger(stream, options) };
        } else if ended {
            return Ok(());
        } else {
            stream.set_read_timeout(Some(left(last, options)?))?;
            match stream.read(&mut buffer) {
                Ok(0) => {
                    ended = true;
                    talk.end();
                }
                Ok(n) => {
                    talk.take(&buffer[..n]);
                    last = Instant::now();
                    if options.fault == Fault::DropsRepliesAtHalfClose && ends_next(stream)? {
                        return Ok(());
                    }
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Sends all of it; each byte that leaves starts the idle limit anew.
fn send(mut stream: &TcpStream, output: &mut Vec<u8>, last: &mut Instant, options: Options) -> Result<()> {
    while !output.is_empty() {
        stream.set_write_timeout(Some(left(*last, options)?))?;
        // The number and the rest of the reply in writes of their own.
        let split = match options.fault {
            Fault::DelaysReplies => output.iter().position(|&byte| byte == b' ').map_or(output.len(), |at| at + 1),
            _ => output.len(),
        };
        match stream.write(&output[..split]) {
            Ok(n) => {
                output.drain(..n);
                *last = Instant::now();
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The rest of the idle limit; an error when it is over.
fn left(last: Instant, options: Options) -> Result<std::time::Duration> {
    let left = options.idle().saturating_sub(last.elapsed());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Ends our side, and discards what still arrives.
fn linger(mut stream: &TcpStream, options: Options) -> Result<()> {
    if options.fault == Fault::ClosesWithReset {
        return Ok(());
    }
    stream.shutdown(Shutdown::Write)?;
    let mut start = Instant::now();
    let mut buffer = [0; 4096];
    loop {
        let left = LINGER.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) if options.fault == Fault::LingersOnAndOn => start = Instant::now(),
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn ends_next(stream: &TcpStream) -> Result<bool> {
    stream.set_nonblocking(true)?;
    let ends = matches!(stream.peek(&mut [0]), Ok(0));
    stream.set_nonblocking(false)?;
    Ok(ends)
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
