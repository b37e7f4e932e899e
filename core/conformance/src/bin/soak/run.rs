//! One run: warm up, look, soak, look again, end.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evserver_conformance::process::Launch;
use evserver_conformance::process::{Server, Signal, Usage};
use evserver_conformance::{Command, DEADLINE, NotPassed, Outcome, Random, ensure};

use crate::clients::{Clients, IDLE, MAX_CONNECTIONS};
use crate::counts::{Counted, Said};

/// Clients at a time, beside crowds.
const WORKERS: u64 = 8;

/// Between two signals that ask for a line of counts; each second one goes with a stop.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(700);

/// The process stands still for so long.
const STOP: Duration = Duration::from_millis(150);

/// What a run was.
pub struct Summary {
    counted: Counted,
    said: Said,
    signals: u64,
    seconds: f64,
    before: Usage,
    after: Usage,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Said { served, peak, refused, timed_out, .. } = self.said;
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        writeln!(
            f,
            "{:.0} s: served {served}, at most {peak} at a time, refused {refused}, timed out {timed_out}, reset {}; {} MB of \
             replies compared; {} signals and {} stops",
            self.seconds,
            count(&self.counted.resets),
            count(&self.counted.bytes) / 1_000_000,
            self.signals,
            self.signals / 2,
        )?;
        write!(
            f,
            "memory {} kB before, {} kB after; descriptors {}, {}; threads {}, {}; the report agrees",
            self.before.rss_bytes / 1024,
            self.after.rss_bytes / 1024,
            self.before.descriptors,
            self.after.descriptors,
            self.before.threads,
            self.after.threads,
        )
    }
}

/// Runs it.
pub fn run(command: &Command, time: Duration, seed: u64) -> Result<Summary, NotPassed> {
    let (most, idle) = (MAX_CONNECTIONS.to_string(), IDLE.as_secs().to_string());
    let words = command.with(&["--max-connections", &most, "--idle-timeout", &idle]);
    let mut server = Launch::new(words).start()?;
    let counted = Counted::default();
    // Whatever grows with the most clients at a time has grown then: tables, pools, stacks that are kept.
    all(&server, &counted, seed, |clients| clients.each())?;
    let before = alone(&mut server, None)?.1;
    let start = Instant::now();
    let over = AtomicBool::new(false);
    let signals = std::thread::scope(|scope| {
        let signals = scope.spawn(|| disturb(&server, &over));
        let soaked = all(&server, &counted, seed.wrapping_add(1), |clients| clients.run(start + time));
        over.store(true, Ordering::Relaxed);
        let signals = signals.join().map_err(|_| NotPassed::failed("the signals panicked"))?;
        soaked.and(signals)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let (said, after) = alone(&mut server, Some(before))?;
    agrees(&counted, said)?;
    ends(&mut server, said)?;
    Ok(Summary { counted, said, signals, seconds, before, after })
}

/// All workers do something; the first failure counts.
fn all(
    server: &Server,
    counted: &Counted,
    seed: u64,
    work: impl Fn(&mut Clients<'_>) -> Outcome + Sync,
) -> Outcome {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                let work = &work;
                scope.spawn(move || {
                    let random = Random::new(seed.wrapping_add(number.wrapping_mul(0x1000_0001)));
                    work(&mut Clients { address: server.address(), counted, random })
                })
            })
            .collect();
        let panicked = |_| Err(NotPassed::failed("a client panicked"));
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(panicked))
    })
}

/// Signals and stops until it is over; says how many signals.
fn disturb(server: &Server, over: &AtomicBool) -> Result<u64, NotPassed> {
    let mut signals = 0;
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(BETWEEN_SIGNALS);
        counts(server)?;
        signals += 1;
        if signals % 2 == 0 {
            server.freeze()?;
            std::thread::sleep(STOP);
            server.thaw()?;
        }
    }
    Ok(signals)
}

/// Asks for the line of counts.
fn counts(server: &Server) -> Result<Said, NotPassed> {
    let said = |lines: &[String]| lines.iter().filter_map(|line| Said::of(line)).collect::<Vec<_>>();
    let before = said(&server.errors().lines()).len();
    server.signal(Signal::User1)?;
    server.errors().wait_for("line of counts", DEADLINE, |lines| said(lines).get(before).copied())
}

/// Waits until everyone has gone and nothing more is held than before; gives what is left.
fn alone(server: &mut Server, before: Option<Usage>) -> Result<(Said, Usage), NotPassed> {
    /// Pages that the allocator keeps here and there.
    const MEMORY_SLACK_BYTES: u64 = 1 << 20;
    let start = Instant::now();
    loop {
        server.ensure_alive()?;
        let (said, now) = (counts(server)?, server.usage()?);
        let back = before.is_none_or(|before| {
            now.descriptors <= before.descriptors
                && now.threads <= before.threads
                && now.rss_bytes <= before.rss_bytes + MEMORY_SLACK_BYTES
        });
        // Threads and descriptors of the last ones go a moment after they are counted out.
        if said.open == 0 && back && (before.is_some() || start.elapsed() > Duration::from_secs(1)) {
            return Ok((said, now));
        }
        ensure!(
            start.elapsed() < DEADLINE,
            "all clients have gone, and it is not as before: it says {said:?} and has {now:?}, before {before:?}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What the server counted is what the clients did.
fn agrees(counted: &Counted, said: Said) -> Outcome {
    let number = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let (served, refused) = (number(&counted.served), number(&counted.refused));
    let timed_out = number(&counted.timed_out);
    ensure!(
        (said.served, said.refused, said.timed_out) == (served, refused, timed_out),
        "it says {said:?}, and the clients counted {served} served, {refused} refused, {timed_out} timed out"
    );
    ensure!(said.peak <= MAX_CONNECTIONS as u64, "it served more than {MAX_CONNECTIONS} at a time: {said:?}");
    Ok(())
}

/// It ends with a report that says the same.
fn ends(server: &mut Server, said: Said) -> Outcome {
    server.signal(Signal::Terminate)?;
    let status = server.wait_exit(DEADLINE)?;
    ensure!(status.code() == Some(0), "it ends with {status}\n{}", server.said());
    let report = format!("served {} connections, peak concurrent {}", said.served, said.peak);
    let lines = server.output().lines();
    ensure!(lines.contains(&report), "no report \"{report}\"\n{}", server.said());
    Ok(())
}
