//! Runs cases: those that do not mind each other a few at a time, the others one by one.

use std::any::Any;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use crate::case::{Case, Needs, NotPassed, Outcome, Pace};
use crate::context::Context;
use crate::process::Server;
use crate::report::Summary;
use crate::suite::{Suite, Target};

/// How many cases run at a time. Most of them wait for a server most of the time.
const WORKERS: usize = 8;

/// Runs the cases and prints a line for each, in the order of the list.
pub(crate) fn run(suite: &Suite, cases: &[Case]) -> Summary {
    let shared = Shared::default();
    let mut summary = Summary::default();
    println!("seed {}", suite.seed);
    let (together, alone): (Vec<Case>, Vec<Case>) = cases.iter().partition(|case| case.pace == Pace::Together);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (done, outcomes) = mpsc::channel();
        for _ in 0..WORKERS.min(together.len()) {
            let done = done.clone();
            let (together, next, shared) = (&together, &next, &shared);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = together.get(at) else { return };
                    // The receiver goes last: it waits for all senders.
                    let _ = done.send((at, run_one(suite, shared, case)));
                }
            });
        }
        drop(done);
        // Those that finished before one ahead of them in the list.
        let mut early = BTreeMap::new();
        let mut turn = 0;
        for (at, outcome) in outcomes {
            early.insert(at, outcome);
            while let Some(outcome) = early.remove(&turn) {
                println!("{}", summary.add(&together[turn], outcome));
                turn += 1;
            }
        }
    });
    for case in &alone {
        println!("{}", summary.add(case, run_one(suite, &shared, case)));
    }
    for warning in summary.warnings() {
        println!("{warning}");
    }
    println!("{summary}");
    summary
}

fn run_one(suite: &Suite, shared: &Shared, case: &Case) -> Outcome {
    if let Some(left_out) = suite.left_out(case) {
        return Err(left_out);
    }
    let mut context = Context { address: None, command: None, traits: suite.traits, seed: suite.seed };
    match (case.needs, &suite.target) {
        (Needs::Address, Target::Address(address)) => context.address = Some(*address),
        (Needs::Address, Target::Command(_)) => context.address = Some(shared.address(suite)?),
        (Needs::Spawn, Target::Address(_)) => {
            return Err(NotPassed::skipped("it needs a server of its own (--spawn)"));
        }
        (Needs::Spawn, Target::Command(command)) => context.command = Some(command),
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| (case.run)(&context)))
        .unwrap_or_else(|panic| Err(NotPassed::failed(format!("the case panicked: {}", message(&*panic)))));
    match (case.needs, shared.ended()) {
        (Needs::Address, Some(how)) => match outcome {
            Err(NotPassed::Failed(text)) => Err(NotPassed::failed(format!("{text}\n    and {how}"))),
            Ok(()) | Err(NotPassed::Skipped { .. }) => Err(NotPassed::failed(how)),
        },
        _ => outcome,
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// The one server that all cases use that need no other: started by the first of them, and again when it has ended, so that
/// one case that kills it does not fail all that come after it.
#[derive(Default)]
struct Shared(Mutex<Option<Server>>);

impl Shared {
    fn address(&self, suite: &Suite) -> Result<SocketAddr, NotPassed> {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*server {
            Some(running) => Ok(running.address()),
            None => {
                let context = match &suite.target {
                    Target::Command(command) => {
                        Context { address: None, command: Some(command), traits: suite.traits, seed: suite.seed }
                    }
                    Target::Address(address) => return Ok(*address),
                };
                Ok(server.insert(context.spawn(&[])?).address())
            }
        }
    }

    /// How the server has ended, if it has; the next case gets another one.
    fn ended(&self) -> Option<String> {
        let mut server = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match server.as_mut()?.ensure_alive() {
            Ok(()) => None,
            Err(gone) => {
                *server = None;
                match gone {
                    NotPassed::Failed(text) => Some(text),
                    NotPassed::Skipped { why, .. } => Some(why),
                }
            }
        }
    }
}
