//! Where a process's standard output or error goes.

use std::io::{self, PipeReader, PipeWriter};
use std::process::Stdio;

use crate::NotPassed;

/// Where one of the two goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Collected,
    /// The descriptor is not open when the program starts: a shell around it closes it.
    Closed,
    /// A pipe that is full, and that nobody reads.
    Full,
    /// A pipe whose reader has gone.
    Broken,
}

impl Stream {
    /// The writing end for the child; the reading end of a full pipe is kept in `full`, or the pipe would be a broken one.
    pub(super) fn descriptor(self, full: &mut Vec<PipeReader>) -> Result<Stdio, NotPassed> {
        Ok(match self {
            Stream::Collected => Stdio::piped(),
            Stream::Closed => Stdio::null(),
            Stream::Full => {
                let (reader, writer) = io::pipe()?;
                fill(&writer)?;
                full.push(reader);
                writer.into()
            }
            Stream::Broken => io::pipe()?.1.into(),
        })
    }
}

/// Writes into a pipe until it takes nothing more. The non-blocking mode is gone again afterwards: it would be the
/// child's too.
#[cfg(unix)]
fn fill(mut pipe: &PipeWriter) -> io::Result<()> {
    use std::io::Write;
    rustix::io::ioctl_fionbio(pipe, true)?;
    let mut result = Ok(());
    // By pages, and then what is left of the last one.
    for block in [&[b'x'; 4096][..], b"x"] {
        result = loop {
            match pipe.write(block) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
    }
    rustix::io::ioctl_fionbio(pipe, false)?;
    result
}

#[cfg(not(unix))]
fn fill(_pipe: &PipeWriter) -> io::Result<()> {
    Err(io::Error::other("no full pipe can be made on this system"))
}
