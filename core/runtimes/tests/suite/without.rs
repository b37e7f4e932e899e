//! What these examples do not do, and why: they take signals as a library hands them out.

const IGNORED: &str = "the library takes a signal also where it was inherited as ignored";
const BLOCKED: &str = "the library does not look at the mask of signals that was inherited";
const WAKE: &str = "the library's signal handler sends itself a byte, which no system interrupts, and loses the signal when strace does";

pub const WITHOUT: &[(&str, &str)] = &[
    ("signals::ignored_ones_stay_ignored", IGNORED),
    ("signals::nohup_is_obeyed", IGNORED),
    ("signals::blocked_ones_are_handled", BLOCKED),
    ("faults::interrupted_transfers_are_repeated", WAKE),
];
