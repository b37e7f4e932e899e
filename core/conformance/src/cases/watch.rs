//! What the cases about a server's process have in common.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::process::{Server, Usage};
use crate::{Client, DEADLINE, NotPassed, Outcome, ensure};

/// Between two looks at something that no event tells.
const POLL: Duration = Duration::from_millis(5);

/// An ordinary client is served from its greeting to the end.
pub(super) fn works(address: SocketAddr) -> Outcome {
    let mut client = Client::greeted(address)?;
    client.send(b"a\nquit\n")?;
    client.expect(b"1: a\nbye\n")?;
    client.expect_end()
}

/// One line of an open connection is answered; `number` is its number there.
pub(super) fn answers(client: &mut Client, number: u64) -> Outcome {
    client.send(b"still here\n")?;
    client.expect(format!("{number}: still here\n").as_bytes())
}

/// Looks again and again until it is so, at most for [`DEADLINE`].
pub(super) fn wait_until(what: &str, mut so: impl FnMut() -> Result<bool, NotPassed>) -> Outcome {
    let deadline = Instant::now() + DEADLINE;
    while !so()? {
        ensure!(Instant::now() < deadline, "not so after {DEADLINE:?}: {what}");
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Waits until the server holds no more descriptors than it did: every connection of a case has left it.
pub(super) fn descriptors_are_back(server: &Server, before: Usage) -> Outcome {
    let mut now = 0;
    let back = wait_until("", || {
        now = server.usage()?.descriptors;
        Ok(now <= before.descriptors)
    });
    let text = || {
        NotPassed::failed(format!(
            "the server had {} descriptors before the clients came, and keeps {now} after all have gone",
            before.descriptors
        ))
    };
    back.map_err(|error| if matches!(error, NotPassed::Failed(_)) { text() } else { error })
}

/// Time on a processor that a server with nothing to do may use: the clock that it is measured with is that coarse.
const IDLE_CPU: Duration = Duration::from_millis(30);

/// Nothing moves for `time`, so the server sleeps: it wakes at most `wakeups` times and uses no processor.
pub(super) fn quiet(server: &Server, time: Duration, wakeups: u64, what: &str) -> Outcome {
    let before = at_rest(server)?;
    std::thread::sleep(time);
    let used = server.usage()?.since(before);
    ensure!(
        used.wakeups <= wakeups && used.cpu <= IDLE_CPU.max(time / 20),
        "{what}: in {time:?} without a byte moving the server woke {} times (at most {wakeups} are right) and used {:?} of a processor",
        used.wakeups,
        used.cpu
    );
    Ok(())
}

/// A look at the server once it sleeps: it may have a last connection to close, or be busy starting. One that never sleeps
/// is found out by whoever looks next.
pub(super) fn at_rest(server: &Server) -> Result<Usage, NotPassed> {
    const STILL: Duration = Duration::from_millis(100);
    const PATIENCE: Duration = Duration::from_secs(3);
    let start = Instant::now();
    let mut before = server.usage()?;
    while start.elapsed() < PATIENCE {
        std::thread::sleep(STILL);
        let now = server.usage()?;
        let (used, descriptors) = (now.since(before), before.descriptors);
        before = now;
        if used.wakeups == 0 && used.cpu < STILL / 10 && used.descriptors == descriptors {
            break;
        }
    }
    Ok(before)
}

/// The server ends by itself with its report and exit code 0; gives the report's numbers: connections served, and the most
/// at one time.
pub(super) fn ends_with_report(server: &mut Server, limit: Duration) -> Result<(u64, u64), NotPassed> {
    let status = server.wait_exit(limit)?;
    ensure!(status.code() == Some(0), "expected exit code 0, came {status}\n{}", server.said());
    let lines = server.output().lines();
    let first = lines.iter().find(|line| !line.starts_with("listening on "));
    first.and_then(|line| report_of(line)).ok_or_else(|| {
        NotPassed::failed(format!(
            "the first line after those with the addresses is not \"served N connections, peak concurrent M\"\n{}",
            server.said()
        ))
    })
}

/// The numbers of a report's first line, when it is in exactly the right words.
fn report_of(line: &str) -> Option<(u64, u64)> {
    let (served, peak) = line.strip_prefix("served ")?.split_once(" connections, peak concurrent ")?;
    let numbers = (served.parse().ok()?, peak.parse().ok()?);
    (line == format!("served {} connections, peak concurrent {}", numbers.0, numbers.1)).then_some(numbers)
}

/// Whether connecting is refused, as it is when nobody listens.
pub(super) fn refuses(address: SocketAddr) -> Result<bool, NotPassed> {
    use std::io::ErrorKind::{ConnectionRefused, ConnectionReset, TimedOut};
    /// A queue that is full lets a client wait.
    const PATIENCE: Duration = Duration::from_secs(2);
    match std::net::TcpStream::connect_timeout(&address, PATIENCE) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ConnectionRefused => Ok(true),
        // What was in the queue when the listener closed is reset: somebody listened a moment ago.
        Err(error) if matches!(error.kind(), ConnectionReset | TimedOut) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_in_exactly_these_words() {
        assert_eq!(report_of("served 12 connections, peak concurrent 3"), Some((12, 3)));
        for wrong in [
            "served 1 connection, peak concurrent 1",
            "Served 1 connections, peak concurrent 1",
            "served 1 connections, peak concurrent 1.",
            "served +1 connections, peak concurrent 1",
            "served 01 connections, peak concurrent 1",
        ] {
            assert_eq!(report_of(wrong), None, "{wrong}");
        }
    }
}
