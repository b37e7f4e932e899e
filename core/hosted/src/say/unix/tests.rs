//! Every kind of file that an output can be, in the states in which it must not hold anyone up.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;

use rustix::fs::fcntl_setfl;

use super::*;

/// Long enough for the busiest machine; only a write that waits for ever takes so long.
const FOREVER: Duration = Duration::from_secs(60);

/// Runs on a thread of its own, so that what blocks fails here instead of hanging the tests.
fn without_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    result.recv_timeout(FOREVER).expect("it blocked or panicked")
}

fn pipe() -> (File, File) {
    let (reader, writer) = io::pipe().unwrap();
    (OwnedFd::from(reader).into(), OwnedFd::from(writer).into())
}

/// Fills a file with blocks of this size until it would block, and leaves its flags as they were.
fn fill(file: &File, block: usize) -> usize {
    let flags = fcntl_getfl(file).unwrap();
    fcntl_setfl(file, flags | OFlags::NONBLOCK).unwrap();
    let mut filled = 0;
    while let Ok(written) = (&*file).write(&vec![b'.'; block]) {
        filled += written;
    }
    fcntl_setfl(file, flags).unwrap();
    filled
}

fn read_all(mut reader: impl Read) -> String {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_line_reaches_a_pipe_with_its_newline() {
    let (reader, writer) = pipe();
    assert!(write_line(writer.as_fd(), "listening on [::]:8080"));
    assert!(write_line(writer.as_fd(), ""));
    drop(writer);
    assert_eq!(read_all(reader), "listening on [::]:8080\n\n");
}

#[test]
fn a_full_pipe_drops_the_line_and_the_flags_of_the_pipe_stay_as_they_were() {
    let (reader, writer) = pipe();
    let filled = fill(&writer, PIPE_BUF);
    let flags = fcntl_getfl(&writer).unwrap();
    let (writer, dropped) = without_blocking(move || {
        let dropped = (0..100).all(|_| !write_line(writer.as_fd(), "no room"));
        (writer, dropped)
    });
    assert!(dropped);
    assert_eq!(fcntl_getfl(&writer).unwrap(), flags);
    drop(writer);
    assert_eq!(read_all(reader).len(), filled);
}

#[test]
fn a_pipe_with_room_for_half_a_line_gets_none_of_it() {
    let (mut reader, writer) = pipe();
    let filled = fill(&writer, PIPE_BUF) + fill(&writer, 1);
    // Less than a line's worth is freed again.
    reader.read_exact(&mut [0; 10]).unwrap();
    let line = "x".repeat(100);
    let writer = without_blocking(move || {
        assert!(!write_line(writer.as_fd(), &line));
        writer
    });
    drop(writer);
    assert_eq!(read_all(reader).len(), filled - 10);
}

#[test]
fn where_a_pipe_cannot_be_opened_again_poll_keeps_a_full_one_from_blocking() {
    let (reader, writer) = pipe();
    assert_eq!(write_where_there_is_room(writer.as_fd(), b"first\n"), Ok(6));
    let filled = fill(&writer, PIPE_BUF);
    let (writer, outcome) = without_blocking(move || {
        let outcome = write_where_there_is_room(writer.as_fd(), b"no room\n");
        (writer, outcome)
    });
    assert_eq!(outcome, Err(Errno::AGAIN));
    drop(writer);
    assert_eq!(read_all(reader).len(), 6 + filled);
}

#[test]
fn a_pipe_whose_reader_has_gone_drops_the_line() {
    let (reader, writer) = pipe();
    drop(reader);
    assert!(!write_line(writer.as_fd(), "no one there"));
    write_text(writer.as_fd(), "no one there", FOREVER);
}

#[test]
fn an_output_that_is_not_open_for_writing_drops_the_line() {
    let (reader, writer) = pipe();
    drop(writer);
    assert!(!write_line(reader.as_fd(), "the wrong end"));
}

#[test]
fn a_line_that_no_pipe_takes_whole_is_cut_and_says_so() {
    let (reader, writer) = pipe();
    let longest = "a".repeat(PIPE_BUF - 1);
    assert!(write_line(writer.as_fd(), &longest));
    // The cut would fall into the middle of a letter of two bytes.
    let longer = "ä".repeat(PIPE_BUF);
    assert!(write_line(writer.as_fd(), &longer));
    drop(writer);
    let text = read_all(reader);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(&*longest));
    let kept = lines.next().and_then(|line| line.strip_suffix("...")).expect("a mark of the cut");
    assert!(longer.starts_with(kept) && kept.len() + 6 >= PIPE_BUF, "{}", kept.len());
    assert_eq!(lines.next(), None);
}

/// Other processes may fill the pipe between a look at it and the write; on Linux nothing hangs on that look.
#[cfg(target_os = "linux")]
#[test]
fn many_writers_on_a_slow_pipe_neither_block_nor_tear_lines() {
    const WRITERS: usize = 4;
    const LINES: usize = 2_000;
    let (mut reader, writer) = pipe();
    let written = without_blocking(move || {
        let line = |writer: usize| char::from(b'a' + writer as u8).to_string().repeat(700);
        let drain = thread::spawn(move || {
            let mut text = Vec::new();
            let mut part = [0; 1000];
            while let Ok(count @ 1..) = reader.read(&mut part) {
                text.extend_from_slice(&part[..count]);
                thread::yield_now();
            }
            String::from_utf8(text).unwrap()
        });
        let kept: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let (writer, line) = (&writer, line(number));
                    scope.spawn(move || (0..LINES).filter(|_| write_line(writer.as_fd(), &line)).count())
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        drop(writer);
        let text = drain.join().unwrap();
        let whole: Vec<_> = (0..WRITERS).map(line).collect();
        assert!(text.lines().all(|line| whole.iter().any(|whole| whole == line)));
        (kept, text.lines().count())
    });
    assert_eq!(written.0, written.1, "each line that was said to be written, and no other");
    assert!(written.0 > 0);
}

#[test]
fn a_regular_file_takes_every_line() {
    let path = std::env::temp_dir().join(format!("evserver-say-{}", std::process::id()));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!((0..1000).all(|_| write_line(file.as_fd(), "line")));
    file.rewind().unwrap();
    assert_eq!(read_all(file), "line\n".repeat(1000));
}

#[test]
fn a_full_disk_drops_the_line() {
    if let Ok(full) = File::options().write(true).open("/dev/full") {
        assert!(!write_line(full.as_fd(), "no space"));
    }
    let null = File::options().write(true).open("/dev/null").unwrap();
    assert!(write_line(null.as_fd(), "all the space there is"));
}

#[test]
fn a_socket_that_nobody_reads_drops_lines_and_tears_none() {
    let (reader, writer) = UnixStream::pair().unwrap();
    let (writer, kept) = without_blocking(move || {
        let kept = (0..10_000).filter(|_| write_line(writer.as_fd(), &"s".repeat(99))).count();
        (writer, kept)
    });
    assert!((1..10_000).contains(&kept), "{kept}");
    drop(writer);
    let text = read_all(reader);
    assert_eq!(text.len(), kept * 100);
}

/// Where rustix can make a terminal.
#[cfg(any(target_os = "linux", target_os = "freebsd", target_os = "macos"))]
mod terminal {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    /// The two ends of a terminal whose user has gone for lunch.
    fn terminal() -> (OwnedFd, OwnedFd) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        (master, slave)
    }

    #[test]
    fn a_terminal_that_is_read_gets_the_line() {
        let (master, slave) = terminal();
        assert!(write_line(slave.as_fd(), "hello"));
        let mut text = [0; 64];
        let count = rustix::io::read(&master, &mut text).unwrap();
        assert_eq!(&text[..count], b"hello\r\n");
    }

    #[test]
    fn a_terminal_that_nobody_reads_never_blocks() {
        let (master, slave) = terminal();
        let flags = fcntl_getfl(&slave).unwrap();
        let (slave, kept) = without_blocking(move || {
            let kept = (0..10_000).filter(|_| write_line(slave.as_fd(), &"t".repeat(300))).count();
            (slave, kept)
        });
        assert!((1..10_000).contains(&kept), "{kept}");
        assert_eq!(fcntl_getfl(&slave).unwrap(), flags, "the flags are those of everyone who shares the terminal");
        drop(master);
    }
}

#[test]
fn a_text_longer_than_a_pipe_arrives_whole_at_a_reader() {
    let (reader, writer) = pipe();
    let text = "0123456789abcde\n".repeat(20_000);
    let drain = thread::spawn(move || read_all(reader));
    write_text(writer.as_fd(), &text, FOREVER);
    drop(writer);
    assert!(drain.join().unwrap() == text);
}

#[test]
fn a_text_without_a_reader_is_given_up() {
    let (reader, writer) = pipe();
    let text = "0123456789abcde\n".repeat(20_000);
    without_blocking(move || write_text(writer.as_fd(), &text, Duration::from_millis(20)));
    assert!(!read_all(reader).is_empty());
}
