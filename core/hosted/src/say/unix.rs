//! One write that does not wait, to whatever standard output and standard error happen to be.
//!
//! `O_NONBLOCK` is never set on them: it belongs to the open file description, which the shell that started this
//! program shares. What is done instead depends on the kind of file:
//!
//! | kind | how |
//! |---|---|
//! | regular file | a write, if the limit of a file's size leaves room; it never waits for a reader |
//! | socket | `send` with `MSG_DONTWAIT` |
//! | pipe (Linux), terminal | opened again by name, so that `O_NONBLOCK` is on a description of our own |
//! | pipe elsewhere, anything that cannot be opened again | poll(2) says that there is room, then a write |
//!
//! On a pipe a write of at most `PIPE_BUF` bytes is all or nothing (pipe(7), POSIX write), and poll reports room
//! only for that much. In the last row alone another process that fills the pipe between poll and write can
//! still make the write wait. A terminal knows no such atom: one that nobody reads can take the first part of a
//! line as the last thing that fits.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fstat, open, tell};
use rustix::io::{Errno, retry_on_intr, write};
use rustix::net::{SendFlags, send};
use rustix::pipe::PIPE_BUF;
use rustix::process::{Resource, getrlimit};
use rustix::termios::{isatty, ttyname};

pub(super) fn line_to_output(line: &str) {
    write_line(io::stdout().as_fd(), line);
}

pub(super) fn line_to_error(line: &str) {
    write_line(io::stderr().as_fd(), line);
}

pub(super) fn text_to_output(text: &str, patience: Duration) {
    write_text(io::stdout().as_fd(), text, patience);
}

pub(super) fn text_to_error(text: &str, patience: Duration) {
    write_text(io::stderr().as_fd(), text, patience);
}

/// Writes a line and its newline in one piece without waiting; false when it was dropped.
///
/// A line that is longer than a pipe takes whole (`PIPE_BUF`: 4096 bytes on Linux, 512 on other systems) is cut
/// and ends in `...`.
pub fn write_line(fd: BorrowedFd<'_>, line: &str) -> bool {
    const CUT: &str = "...\n";
    let mut bytes = Vec::with_capacity(line.len() + 1);
    if line.len() < PIPE_BUF {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    } else {
        bytes.extend_from_slice(&line.as_bytes()[..line.floor_char_boundary(PIPE_BUF - CUT.len())]);
        bytes.extend_from_slice(CUT.as_bytes());
    }
    attempt(fd, &bytes) == Ok(bytes.len())
}

/// Writes a text in pieces, waiting for room in all no longer than `patience`.
fn write_text(fd: BorrowedFd<'_>, text: &str, patience: Duration) {
    let start = Instant::now();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match attempt(fd, &rest[..rest.len().min(PIPE_BUF)]) {
            Ok(written) if written > 0 => rest = &rest[written..],
            Ok(_) | Err(Errno::AGAIN) => {
                let left = patience.saturating_sub(start.elapsed());
                match has_room(fd, left) {
                    // The loop looks again, and at the clock too.
                    Ok(true) | Err(Errno::INTR) if !left.is_zero() => {}
                    _ => return,
                }
            }
            Err(_) => return,
        }
    }
}

/// One write that does not wait: how many bytes went, or `AGAIN` for no room.
fn attempt(fd: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
    match FileType::from_raw_mode(fstat(fd)?.st_mode) {
        FileType::Socket => retry_on_intr(|| send(fd, bytes, SendFlags::DONTWAIT)),
        FileType::RegularFile if !is_within_file_limit(fd, bytes.len())? => Err(Errno::FBIG),
        FileType::RegularFile => retry_on_intr(|| write(fd, bytes)),
        kind => match own_description(fd, kind) {
            Some(own) => retry_on_intr(|| write(&own, bytes)),
            None => write_where_there_is_room(fd, bytes),
        },
    }
}

/// Whether so many bytes more are within the limit of a file's size: setrlimit(2), `ulimit -f`. A write beyond it raises
/// SIGXFSZ, which ends the program, and one across it is cut.
fn is_within_file_limit(fd: BorrowedFd<'_>, count: usize) -> rustix::io::Result<bool> {
    let Some(limit) = getrlimit(Resource::Fsize).current else { return Ok(true) };
    let appends = fcntl_getfl(fd)?.contains(OFlags::APPEND);
    let begin = if appends { fstat(fd)?.st_size as u64 } else { tell(fd)? };
    Ok(begin.saturating_add(count as u64) <= limit)
}

/// The last row of the table above.
fn write_where_there_is_room(fd: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
    match has_room(fd, Duration::ZERO) {
        Ok(true) => retry_on_intr(|| write(fd, bytes)),
        _ => Err(Errno::AGAIN),
    }
}

/// A second description of the same pipe or terminal, for `O_NONBLOCK` to be set on; None where the system has no
/// name for it or does not let this user open it.
///
/// It lives for one line: kept, it would go stale when someone redirects the descriptor.
fn own_description(fd: BorrowedFd<'_>, kind: FileType) -> Option<OwnedFd> {
    let terminal = isatty(fd);
    if !terminal && kind != FileType::Fifo {
        return None;
    }
    // To open it anew must not give more than what was given: the end of a pipe to read from stays that.
    if fcntl_getfl(fd).ok()? & OFlags::RWMODE == OFlags::RDONLY {
        return None;
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if cfg!(target_os = "linux") {
        // proc(5): to open such a link is to open the pipe or terminal itself anew. Elsewhere /dev/fd duplicates.
        return open(format!("/proc/self/fd/{}", fd.as_raw_fd()), flags, Mode::empty()).ok();
    }
    if terminal {
        return open(ttyname(fd, Vec::new()).ok()?, flags, Mode::empty()).ok();
    }
    None
}

/// Whether poll(2) says within `patience` that a write would not wait (an error of the file counts: the write
/// will name it).
fn has_room(fd: BorrowedFd<'_>, patience: Duration) -> rustix::io::Result<bool> {
    let timeout = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    Ok(poll(&mut fds, Some(&timeout))? > 0 && !fds[0].revents().contains(PollFlags::NVAL))
}

#[cfg(test)]
mod tests;
