//! Kinds of servers: what can be tried on each, and what of the outcome does not depend on how its threads run.

use clap::ValueEnum;

use crate::calls::{Call, is_repeated};
use crate::case::{Fault, Outcome, When};
use crate::table::Phase;

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// One loop for all clients
    OneLoop,
    /// Several loops, each on a thread of its own; the kernel chooses which one gets a client
    SeveralLoops,
    /// One loop on kqueue, which is emulated over epoll
    EmulatedKqueue,
    /// A thread for each client
    ThreadAConnection,
}

/// Calls that are made and left alone on servers of one kind.
pub struct LeftOut {
    phases: &'static [Phase],
    /// Names with spaces between.
    pub names: &'static str,
    pub why: &'static str,
}

impl LeftOut {
    fn has(&self, phase: Phase, name: &str) -> bool {
        self.phases.contains(&phase) && is_among(self.names, name)
    }

    /// When they are left alone; nothing if that is always.
    pub fn when(&self) -> String {
        if self.phases.len() == Phase::ALL.len() {
            return String::new();
        }
        let titles: Vec<String> = self.phases.iter().map(|phase| phase.title().to_lowercase()).collect();
        format!(" {}", titles.join(" and "))
    }
}

/// Whether a name is one of those with spaces between.
pub fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|one| one == name)
}

const STARTED: &[Phase] = &[Phase::Serving, Phase::Draining];

/// On macOS alone it is otherwise, which the kqueue shell is tried for.
const NO_FCNTL: LeftOut = LeftOut {
    phases: &Phase::ALL,
    names: "fcntl",
    why: "only a mistake in the program's own arguments makes it fail",
};

const ONE_LOOP: &[LeftOut] = &[NO_FCNTL];

const SEVERAL_LOOPS: &[LeftOut] = &[
    NO_FCNTL,
    LeftOut {
        phases: STARTED,
        names: "madvise mmap mprotect munmap",
        why: "which loop asks for memory, and when, depends on which clients it gets",
    },
    LeftOut {
        phases: &[Phase::Draining],
        names: "recvfrom sendto",
        why: "the loops wake each other by them, and in that no kernel fails so",
    },
];

const EMULATED_KQUEUE: &[LeftOut] = &[
    LeftOut {
        phases: &[Phase::Starting],
        names: "fcntl",
        why: "it fails on macOS alone, for a client that has gone before it was accepted",
    },
    LeftOut {
        phases: &Phase::ALL,
        names: "eventfd2 getsockopt signalfd4",
        why: "the emulation alone makes them: a signal costs it descriptors, and what is ready it has to ask for",
    },
    LeftOut {
        phases: &Phase::ALL,
        names: "read write",
        why: "the emulation makes them for signals; those of the server's own are made by what all shells share, and stand in \
              the tables of the others",
    },
    LeftOut { phases: STARTED, names: "ioctl", why: "the emulation alone makes it then, to see how much is ready" },
    LeftOut { phases: &Phase::ALL, names: "rt_sigpending", why: "it cannot fail" },
];

const THREAD_A_CONNECTION: &[LeftOut] = &[
    NO_FCNTL,
    LeftOut {
        phases: &[Phase::Draining],
        names: "sendto",
        why: "the thread of a client that has sent everything only wakes others by it, and in that no kernel fails so",
    },
];

/// Of the errors that a shell takes all in one way, one each.
const ONE_OF_EACH: &[(&str, &[&str])] = &[
    ("accept4", &["ECONNABORTED", "EINTR", "EMFILE"]),
    ("bind", &["EADDRINUSE"]),
    ("epoll_create1", &["EMFILE"]),
    ("epoll_ctl", &["ENOMEM"]),
    ("mmap", &["ENOMEM"]),
    ("open", &["EMFILE"]),
    ("openat", &["EMFILE"]),
    ("poll", &["EINTR"]),
    ("recvfrom", &["ECONNRESET", "EINTR", "ENOMEM"]),
    ("sendto", &["ECONNRESET", "EINTR", "ENOBUFS"]),
    ("setsockopt", &["ENOPROTOOPT"]),
    ("signalfd4", &["EMFILE"]),
    ("socket", &["EAFNOSUPPORT", "EMFILE"]),
    ("socketpair", &["EMFILE"]),
    ("timerfd_create", &["EMFILE"]),
    ("write", &["EAGAIN", "EINTR", "EIO"]),
];

impl Kind {
    /// The calls that are left alone beside those that always are.
    pub fn left_out(self) -> &'static [LeftOut] {
        match self {
            Kind::OneLoop => ONE_LOOP,
            Kind::SeveralLoops => SEVERAL_LOOPS,
            Kind::EmulatedKqueue => EMULATED_KQUEUE,
            Kind::ThreadAConnection => THREAD_A_CONNECTION,
        }
    }

    pub fn leaves_out(self, phase: Phase, name: &str) -> bool {
        self.left_out().iter().any(|left| left.has(phase, name))
    }

    /// The errors of a call that are tried, all or one of each sort.
    pub fn tried(self, call: &Call) -> &'static [&'static str] {
        let few = || ONE_OF_EACH.iter().find(|(name, _)| *name == call.name).map(|(_, few)| *few);
        match self {
            Kind::OneLoop | Kind::ThreadAConnection => call.tried,
            Kind::SeveralLoops | Kind::EmulatedKqueue => few().unwrap_or(call.tried),
        }
    }

    /// Of how many calls one fails where all are to.
    pub fn one_of(self, call: &str, errno: &str) -> usize {
        match self {
            _ if !is_repeated(errno) => 1,
            // The wait and a look at the signals take turns in it: of two calls it might always be the same that fails, and the
            // look, which does not sleep, is never interrupted by a kernel.
            Kind::EmulatedKqueue if call == "epoll_wait" => 3,
            _ => 2,
        }
    }

    /// The same words however the threads run.
    pub fn determined(self, fault: &Fault, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Is(words) if self == Kind::SeveralLoops => {
                let words = words.replace("one lost", "some lost").replace("all lost", "some lost");
                // The third one of a loop adds a client, who is lost, or deletes one who has gone.
                let may_be_harmless = fault.call == "epoll_ctl" && fault.when == When::Third;
                let words = if may_be_harmless && matches!(&*words, "served" | "some lost") {
                    "served or some lost".to_string()
                } else {
                    words
                };
                Outcome::Is(words)
            }
            other => other,
        }
    }

    /// What the table of this kind says about itself.
    pub fn introduction(self) -> &'static str {
        match self {
            Kind::OneLoop | Kind::ThreadAConnection => "",
            Kind::SeveralLoops => {
                "
Each loop meets the fault, and it is not determined which clients a loop gets: `some lost` is at least one. Of errors
that the shell takes all in one way one is tried here; the table of one loop has them all.
"
            }
            Kind::EmulatedKqueue => {
                "
This is Linux, with kqueue emulated over epoll: `epoll_create1` stands for kqueue(2), `epoll_ctl` for a change that
kevent(2) is told, `epoll_wait` for its wait, of which every third fails in place of every one. Other calls of the emulation's
own, which no BSD makes, are left alone. Of errors that the shell takes all in one way one is tried here.
"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CALLS;

    #[test]
    fn how_many_are_lost_is_not_determined_where_the_kernel_chooses_the_loop() {
        let is = |words: &str| Outcome::Is(words.to_string());
        let fault = |call, when| Fault { call, errno: "ENOMEM", when, times: 1, of: 1 };
        let several = |call, when, words| Kind::SeveralLoops.determined(&fault(call, when), is(words));
        assert_eq!(several("recvfrom", When::Every, "all lost"), is("some lost"));
        assert_eq!(several("recvfrom", When::First, "one lost"), is("some lost"));
        assert_eq!(several("recvfrom", When::Third, "served"), is("served"));
        assert_eq!(several("epoll_ctl", When::Third, "served"), several("epoll_ctl", When::Third, "one lost"));
        assert_ne!(several("epoll_ctl", When::First, "served"), several("epoll_ctl", When::First, "one lost"));
        let wrong = Outcome::Wrong("it spins".to_string());
        assert_eq!(Kind::SeveralLoops.determined(&fault("epoll_ctl", When::Third), wrong.clone()), wrong);
        assert_eq!(Kind::OneLoop.determined(&fault("recvfrom", When::Every), is("all lost")), is("all lost"));
    }

    #[test]
    fn the_few_are_of_the_many() {
        for (name, few) in ONE_OF_EACH {
            let call = CALLS.iter().find(|call| call.name == *name).unwrap();
            assert!(few.iter().all(|errno| call.tried.contains(errno)), "{name}");
        }
    }
}
