//! The system calls of a server, as `strace` writes them down.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::{POLL, need};
use crate::{DEADLINE, NotPassed};

/// The growing log of a traced server; the file is removed with it.
pub struct Trace {
    path: PathBuf,
}

/// One system call, at the place where it was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The thread that made it.
    pub thread: u32,
    /// `epoll_wait`, …
    pub name: String,
    /// Arguments and result as strace shows them; only the arguments' beginning when another thread came between.
    pub text: String,
}

impl Call {
    /// The first argument, where that is a descriptor.
    pub fn descriptor(&self) -> Option<u32> {
        self.text.split([',', ')']).next()?.parse().ok()
    }

    /// What a call that succeeded gave, where that is a number.
    pub fn result(&self) -> Option<u64> {
        let (_, result) = self.text.rsplit_once(" = ")?;
        result.split_whitespace().next()?.parse().ok()
    }
}

/// For so long the log must not grow to count as complete.
const SETTLED: Duration = Duration::from_millis(100);

impl Trace {
    pub(super) fn new() -> Result<Trace, NotPassed> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("evserver-conformance-{}-{number}.strace", std::process::id());
        let path = std::env::temp_dir().join(name);
        File::create(&path)?;
        Ok(Trace { path })
    }

    /// Where strace writes it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The words in front of a command. `-D` puts strace beside the server, not above it: the child is the server itself.
    pub(super) fn command(&self, options: &[String]) -> Vec<String> {
        let mut words: Vec<String> = ["strace", "-D", "-f", "-qq", "-o"].map(str::to_string).into();
        words.push(self.path.display().to_string());
        words.extend(options.iter().cloned());
        words
    }

    /// A place in the log: what comes later is counted from here. The server should be asleep.
    pub fn mark(&self) -> Result<u64, NotPassed> {
        self.settle(SETTLED, DEADLINE)
    }

    /// Waits until the log has not grown for so long, or the limit is over; gives its length.
    pub(super) fn settle(&self, quiet: Duration, limit: Duration) -> Result<u64, NotPassed> {
        let deadline = Instant::now() + limit;
        let (mut length, mut since) = (self.length()?, Instant::now());
        while since.elapsed() < quiet && Instant::now() < deadline {
            std::thread::sleep(POLL);
            let now = self.length()?;
            if now != length {
                (length, since) = (now, Instant::now());
            }
        }
        Ok(length)
    }

    /// The calls begun since a mark.
    pub fn calls_since(&self, mark: u64) -> Result<Vec<Call>, NotPassed> {
        Ok(self.text_since(mark)?.lines().filter_map(call_of).collect())
    }

    /// How many lines there are: at least one for each call.
    pub fn lines(&self) -> Result<usize, NotPassed> {
        Ok(self.text_since(0)?.lines().count())
    }

    /// How many calls were made to fail.
    pub fn injected(&self) -> Result<usize, NotPassed> {
        Ok(self.text_since(0)?.matches("(INJECTED)").count())
    }

    /// How often the server was stopped by SIGSTOP.
    pub(super) fn stops(&self) -> Result<usize, NotPassed> {
        Ok(self.text_since(0)?.matches("--- stopped by SIGSTOP ---").count())
    }

    fn length(&self) -> Result<u64, NotPassed> {
        Ok(fs::metadata(&self.path)?.len())
    }

    fn text_since(&self, mark: u64) -> Result<String, NotPassed> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(mark))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // A temporary file that cannot be removed is no reason to fail.
        let _ = fs::remove_file(&self.path);
    }
}

/// `PID name(arguments) = result`. What is resumed was counted when it began; signals and exits are not calls, and neither
/// is the rest of a line that began before the mark.
fn call_of(line: &str) -> Option<Call> {
    let (pid, rest) = line.split_once(' ')?;
    let (name, text) = rest.trim_start().split_once('(')?;
    let thread = pid.parse().ok()?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| Call { thread, name: name.to_string(), text: text.to_string() })
}

/// Skips loudly where strace is missing or may not trace.
pub(super) fn need_strace() -> Result<(), NotPassed> {
    static WORKS: OnceLock<bool> = OnceLock::new();
    need("strace")?;
    let works = *WORKS.get_or_init(|| {
        let mut probe = Process::new("strace");
        probe.args(["-D", "-f", "-qq", "-o", "/dev/null", "sh", "-c", "exit 7"]);
        probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.code() == Some(7))
    });
    if works { Ok(()) } else { Err(NotPassed::skipped_loudly("strace may not trace a process here")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_the_rest() {
        let call = call_of("12  epoll_wait(4, [], 256, -1) = 0").unwrap();
        assert_eq!((call.thread, &*call.name, &*call.text), (12, "epoll_wait", "4, [], 256, -1) = 0"));
        assert!(call_of("12  recvfrom(5,  <unfinished ...>").is_some());
        let received = call_of("7  recvfrom(11, \" = 5, \"..., 4080, 0, NULL, NULL) = 1280 (DELAYED)").unwrap();
        assert_eq!((received.descriptor(), received.result()), (Some(11), Some(1280)));
        let nothing =
            call_of("7  accept4(4, 0x7ff, [128], SOCK_CLOEXEC) = -1 EAGAIN (Resource temporarily)").unwrap();
        assert_eq!((nothing.descriptor(), nothing.result()), (Some(4), None));
        for other in [
            "12  <... recvfrom resumed>\"a\", 4096, 0, NULL, NULL) = 1",
            "12  --- SIGCONT {si_signo=SIGCONT, si_code=SI_USER} ---",
            "12  +++ exited with 0 +++",
            "[{events=EPOLLIN, data=7}], 256, -1) = 1",
            "",
        ] {
            assert_eq!(call_of(other), None, "{other}");
        }
    }
}
