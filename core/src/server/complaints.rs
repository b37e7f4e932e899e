//! What a server has to say to a person, and how often.

use crate::time::Time;

/// Something that a person should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// Clients wait in the listen queue because descriptors or memory ran out.
    AcceptExhausted,
    /// A protocol panicked; its connection was closed.
    ProtocolPanicked,
}

/// Milliseconds between two complaints of the same kind.
const COMPLAINT_MS: u32 = 60_000;

/// When each kind may be said again.
#[derive(Debug)]
pub(super) struct Complaints {
    exhausted_after: Time,
    panicked_after: Time,
}

impl Complaints {
    /// Nothing was said yet.
    pub const fn new() -> Self {
        Self { exhausted_after: Time::from_ms(0), panicked_after: Time::from_ms(0) }
    }

    /// Whether to say this now: what goes wrong once may go wrong with every client, and floods nobody's log.
    #[cold]
    pub fn may_say(&mut self, complaint: Complaint, now: Time) -> bool {
        let after = match complaint {
            Complaint::AcceptExhausted => &mut self.exhausted_after,
            Complaint::ProtocolPanicked => &mut self.panicked_after,
        };
        let due = now >= *after;
        if due {
            *after = now.after(COMPLAINT_MS);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_said_once_a_minute() {
        let mut complaints = Complaints::new();
        assert!(complaints.may_say(Complaint::AcceptExhausted, Time::from_ms(5_000)));
        assert!(!complaints.may_say(Complaint::AcceptExhausted, Time::from_ms(64_999)));
        assert!(complaints.may_say(Complaint::ProtocolPanicked, Time::from_ms(64_999)));
        assert!(complaints.may_say(Complaint::AcceptExhausted, Time::from_ms(65_000)));
        assert!(!complaints.may_say(Complaint::ProtocolPanicked, Time::from_ms(65_000)));
    }
}
