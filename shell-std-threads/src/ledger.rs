//! Who is in, who was refused, and whether anyone else is let in.

use evserver_core::{CloseReason, Counts, REFUSED_AT_ONCE, Time};

/// Milliseconds after which accepting is tried again although nothing was freed here: another process may have
/// freed it.
const RETRY_MS: u32 = 1000;

/// Milliseconds between two complaints of the same kind.
const COMPLAINT_MS: u32 = 60_000;

/// The counts of a server and the state of its door.
#[derive(Debug)]
pub struct Ledger {
    counts: Counts,
    /// Clients served at one time; `None` is no limit.
    limit: Option<u32>,
    /// Refused clients that are still connected.
    refused: u32,
    /// Clients that are over, but for closing their sockets.
    closing: u32,
    /// The thread that accepts waits for a place.
    wanted: bool,
    rest: Rest,
    draining: bool,
    /// When the next complaint of each kind is due at the earliest.
    complain_after: [Time; Complaint::KINDS],
}

/// Why accepting rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// It does not.
    Not,
    /// Descriptors or memory ran out: until a client leaves, or this moment.
    Exhausted(Time),
    /// Too many refused clients linger: until one leaves.
    Crowded,
}

/// Something that a person should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// Clients wait in the listen queue because descriptors or memory ran out.
    AcceptExhausted,
    /// A client was refused since no thread could be started for it.
    NoThread,
    /// A protocol panicked; its connection was closed.
    ProtocolPanicked,
}

impl Complaint {
    const KINDS: usize = 3;

    /// The line for it.
    pub fn text(self) -> &'static str {
        match self {
            Self::AcceptExhausted => "out of descriptors or memory; clients wait until a connection closes",
            Self::NoThread => "no more threads can be started; new clients are told that the server is full",
            Self::ProtocolPanicked => "a protocol panicked; its connection was closed",
        }
    }
}

impl Ledger {
    /// Nobody is in yet.
    pub fn new(limit: Option<u32>) -> Self {
        Self {
            counts: Counts::new(),
            limit,
            refused: 0,
            closing: 0,
            wanted: false,
            rest: Rest::Not,
            draining: false,
            complain_after: [Time::from_ms(0); Complaint::KINDS],
        }
    }

    /// What was counted up to now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Threads that serve a client or are about to end.
    pub fn running(&self) -> u64 {
        self.counts.open + u64::from(self.closing)
    }

    /// Whether one more client may be served. Only the thread that accepts asks and lets in.
    pub fn has_place(&self) -> bool {
        self.limit.is_none_or(|limit| self.counts.open < u64::from(limit))
    }

    /// A client is let in. What this returns undoes it if the client could not be served after all.
    pub fn opened(&mut self) -> Opened {
        let before = Opened { peak: self.counts.peak };
        self.counts.opened();
        before
    }

    /// There is no thread for the client that was let in last.
    pub fn undo(&mut self, opened: Opened) {
        self.counts.served -= 1;
        self.counts.open -= 1;
        self.counts.peak = opened.peak;
    }

    /// A client's protocol panicked before it began.
    pub fn never_opened(&mut self) {
        self.counts.panicked += 1;
    }

    /// A client was refused and lingers.
    pub fn refused(&mut self) {
        self.counts.refused += 1;
        self.refused += 1;
        if self.refused >= REFUSED_AT_ONCE {
            self.rest = Rest::Crowded;
        }
    }

    /// The thread that accepts waits for a place, to be told by the next client that ends.
    pub fn want_place(&mut self) {
        self.wanted = true;
    }

    /// A client that was served is over, and its place is free. To be said before its socket is closed: who is cut off
    /// and comes again at once is to find that place. Says whether someone waits for it.
    pub fn ended(&mut self, reason: CloseReason) -> bool {
        self.counts.closed(reason);
        self.closing += 1;
        std::mem::take(&mut self.wanted)
    }

    /// The socket of one that has ended is closed. Says whether the thread that accepts has to know.
    pub fn closed(&mut self) -> bool {
        self.closing -= 1;
        self.left()
    }

    /// A refused client is over. Says whether the thread that accepts has to know.
    pub fn refused_left(&mut self) -> bool {
        self.refused -= 1;
        self.left()
    }

    fn left(&mut self) -> bool {
        let goes_on = match self.rest {
            Rest::Not => false,
            Rest::Exhausted(_) => true,
            Rest::Crowded => self.refused < REFUSED_AT_ONCE,
        };
        if goes_on {
            self.rest = Rest::Not;
        }
        goes_on || self.is_done()
    }

    /// Descriptors or memory ran out.
    pub fn exhausted(&mut self, now: Time) {
        self.rest = Rest::Exhausted(now.after(RETRY_MS));
    }

    /// Whether clients are accepted; if not, when it is to be tried again although nobody left.
    pub fn door(&mut self, now: Time) -> Result<(), Option<Time>> {
        match self.rest {
            Rest::Not => Ok(()),
            Rest::Exhausted(retry) if now < retry => Err(Some(retry)),
            Rest::Exhausted(_) => {
                self.rest = Rest::Not;
                Ok(())
            }
            Rest::Crowded => Err(None),
        }
    }

    /// The shutdown has begun: there is one more sweep of accepts.
    pub fn drain(&mut self) {
        self.draining = true;
        self.rest = Rest::Not;
    }

    /// Whether a shutdown is over.
    pub fn is_done(&self) -> bool {
        self.draining && self.running() == 0 && self.refused == 0
    }

    /// Whether to say this now: not twice a minute.
    pub fn may_complain(&mut self, complaint: Complaint, now: Time) -> bool {
        let after = &mut self.complain_after[complaint as usize];
        let due = now >= *after;
        if due {
            *after = now.after(COMPLAINT_MS);
        }
        due
    }
}

/// What the counts were before a client was let in.
#[derive(Debug)]
#[must_use]
pub struct Opened {
    peak: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_for_those_who_are_in() {
        let mut ledger = Ledger::new(Some(1));
        assert!(ledger.has_place());
        let _ = ledger.opened();
        assert!(!ledger.has_place());
        ledger.refused();
        assert!(!ledger.ended(CloseReason::Protocol), "nobody waits for a place");
        assert!(ledger.has_place(), "before its socket is closed");
        assert_eq!(ledger.running(), 1);
        assert!(!ledger.closed(), "nobody waits for that");
        assert_eq!(ledger.running(), 0);
        assert_eq!(ledger.counts(), Counts { served: 1, peak: 1, refused: 1, ..Counts::new() });
    }

    #[test]
    fn who_waits_for_a_place_is_told_once() {
        let mut ledger = Ledger::new(Some(2));
        let _ = (ledger.opened(), ledger.opened());
        ledger.want_place();
        assert!(ledger.ended(CloseReason::PeerEnd));
        assert!(!ledger.ended(CloseReason::PeerEnd));
    }

    #[test]
    fn a_client_without_a_thread_was_never_served() {
        let mut ledger = Ledger::new(None);
        let _ = ledger.opened();
        let second = ledger.opened();
        ledger.undo(second);
        assert_eq!(ledger.counts(), Counts { served: 1, open: 1, peak: 1, ..Counts::new() });
    }

    #[test]
    fn a_client_whose_protocol_panicked_before_it_began_counts_as_that_alone() {
        let mut ledger = Ledger::new(None);
        ledger.never_opened();
        assert_eq!(ledger.counts(), Counts { panicked: 1, ..Counts::new() });
    }

    #[test]
    fn a_crowd_of_refused_clients_closes_the_door() {
        let mut ledger = Ledger::new(Some(1));
        let now = Time::from_ms(0);
        for _ in 1..REFUSED_AT_ONCE {
            ledger.refused();
        }
        assert_eq!(ledger.door(now), Ok(()));
        ledger.refused();
        assert_eq!(ledger.door(now), Err(None));
        let _ = ledger.opened();
        let _ = ledger.ended(CloseReason::Protocol);
        assert!(!ledger.closed(), "a served client that leaves makes no room for refused ones");
        assert!(ledger.refused_left());
        assert_eq!(ledger.door(now), Ok(()));
    }

    #[test]
    fn exhaustion_ends_when_someone_leaves_or_after_a_second() {
        let mut ledger = Ledger::new(None);
        let _ = ledger.opened();
        ledger.exhausted(Time::from_ms(5_000));
        assert_eq!(ledger.door(Time::from_ms(5_999)), Err(Some(Time::from_ms(6_000))));
        assert_eq!(ledger.door(Time::from_ms(6_000)), Ok(()));
        ledger.exhausted(Time::from_ms(6_000));
        let _ = ledger.ended(CloseReason::PeerEnd);
        assert_eq!(
            ledger.door(Time::from_ms(6_000)),
            Err(Some(Time::from_ms(7_000))),
            "its descriptor is not free yet"
        );
        assert!(ledger.closed());
        assert_eq!(ledger.door(Time::from_ms(6_001)), Ok(()));
    }

    #[test]
    fn each_complaint_is_made_once_a_minute() {
        let mut ledger = Ledger::new(None);
        assert!(ledger.may_complain(Complaint::NoThread, Time::from_ms(1)));
        assert!(!ledger.may_complain(Complaint::NoThread, Time::from_ms(60_000)));
        assert!(ledger.may_complain(Complaint::ProtocolPanicked, Time::from_ms(60_000)));
        assert!(ledger.may_complain(Complaint::NoThread, Time::from_ms(60_001)));
    }

    #[test]
    fn each_complaint_has_a_line_of_its_own() {
        let texts =
            [Complaint::AcceptExhausted, Complaint::NoThread, Complaint::ProtocolPanicked].map(Complaint::text);
        assert!(texts.iter().all(|text| !text.is_empty() && !text.contains('\n')));
        assert!(texts[0] != texts[1] && texts[1] != texts[2] && texts[2] != texts[0]);
    }

    #[test]
    fn the_last_one_out_says_so() {
        let mut ledger = Ledger::new(Some(1));
        let _ = ledger.opened();
        ledger.refused();
        ledger.drain();
        let _ = ledger.ended(CloseReason::Drained);
        assert!(!ledger.refused_left());
        assert!(ledger.closed());
        assert!(ledger.is_done());
    }
}
