//! Which processor the servers run on, and which the load.

use crate::failure::{Failure, Outcome};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Two processors; the same one twice where there is only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// For the server.
    pub server: usize,
    /// For the load.
    pub load: usize,
}

impl Cpus {
    /// The first two that this process may use.
    pub fn choose() -> Outcome<Self> {
        let allowed =
            sched_getaffinity(None).map_err(|error| Failure::io("cannot ask for the processors", error))?;
        let mut usable = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
        let server = usable.next().ok_or_else(|| Failure::Refused("there is no processor to use".into()))?;
        Ok(Cpus { server, load: usable.next().unwrap_or(server) })
    }

    /// Moves this thread, and what it starts from now on, to the server's processor.
    pub fn be_server(self) -> Outcome<()> {
        pin(&[self.server])
    }

    /// Moves this thread to the load's processor.
    pub fn be_load(self) -> Outcome<()> {
        pin(&[self.load])
    }

    /// Lets this thread, and what it starts from now on, have both.
    pub fn be_both(self) -> Outcome<()> {
        pin(&[self.server, self.load])
    }
}

fn pin(cpus: &[usize]) -> Outcome<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).map_err(|error| Failure::io(format!("cannot run on processors {cpus:?}"), error))
}
