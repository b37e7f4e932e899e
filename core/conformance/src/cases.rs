//! All cases, group by group.

mod accept;
mod arguments;
mod closing;
mod cost;
mod draining;
mod faults;
mod flooder;
mod framing;
mod holding;
mod limits;
mod looping;
mod output;
mod signals;
mod stalls;
mod startup;
mod time;
mod transcripts;
mod transfer_faults;
mod waiting;
mod watch;

use crate::case::Case;

/// Every group's list. A group is a file under `cases/` with a `pub(crate) const CASES: &[Case]`.
const GROUPS: &[&[Case]] = &[
    transcripts::CASES,
    framing::CASES,
    output::CASES,
    stalls::CASES,
    closing::CASES,
    accept::CASES,
    limits::CASES,
    looping::CASES,
    waiting::CASES,
    time::CASES,
    signals::CASES,
    draining::CASES,
    startup::CASES,
    arguments::CASES,
    cost::CASES,
    faults::CASES,
    transfer_faults::CASES,
];

/// Every case, in the order in which `--list` shows them.
pub fn all_cases() -> Vec<Case> {
    GROUPS.concat()
}
