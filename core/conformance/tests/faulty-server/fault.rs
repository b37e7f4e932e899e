//! What can be wrong with the server on purpose.

macro_rules! faults {
    ($($(#[doc = $what:literal])+ $variant:ident = $name:literal,)+) => {
        /// One fault; [`Fault::None`] is the server that is right.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[doc = $what])+ $variant,)+
        }

        impl Fault {
            pub fn named(name: &str) -> Option<Fault> {
                match name {
                    $($name => Some(Fault::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

faults! {
    /// Nothing is wrong.
    None = "none",

    // What is said.
    /// Lines behind `quit` are answered.
    AnswersAfterQuit = "answers-after-quit",
    /// What is behind the last line feed is answered when the stream ends.
    AnswersTail = "answers-tail",
    /// A line ends at NUL as far as the echo goes.
    CutsNul = "cuts-nul",
    /// A line that is not UTF-8 ends the connection.
    StrictUtf8 = "strict-utf8",
    /// Every carriage return before the line feed is cut, not one.
    CutsEveryReturn = "cuts-every-return",
    /// The carriage return is cut only when it came in the same read as the line feed.
    CutsReturnOfSameRead = "cuts-return-of-same-read",
    /// The carriage return does not count towards the longest line.
    ReturnIsFree = "return-is-free",
    /// A line that came whole in one read may have any length.
    ChecksLengthWhenIncomplete = "checks-length-when-incomplete",
    /// Too long a line is noticed when its line feed comes, or much later.
    VerdictAtLineFeed = "verdict-at-line-feed",

    // How it ends.
    /// The connection is closed with input unread, which makes a reset.
    ClosesWithReset = "closes-with-reset",
    /// The two seconds start anew with each byte.
    LingersOnAndOn = "lingers-on-and-on",
    /// The end of the stream is taken for the end of the client: what is not answered or sent yet is dropped.
    DropsRepliesAtHalfClose = "drops-replies-at-half-close",
    /// The kernel's hang-up flag is obeyed before the data is read.
    ObeysHangUpFirst = "obeys-hang-up-first",
    /// A hang-up is ignored while reading is off.
    IgnoresHangUp = "ignores-hang-up",
    /// A send to a client that is gone kills the process, as an unhandled SIGPIPE does.
    DiesOfBrokenPipe = "dies-of-broken-pipe",

    // Back-pressure.
    /// A client that does not read its replies is cut off.
    ClosesOnOverflow = "closes-on-overflow",
    /// Replies pile up in memory.
    BuffersWithoutEnd = "buffers-without-end",
    /// When the output has drained it waits for input, although lines are buffered.
    ForgetsBufferedLines = "forgets-buffered-lines",
    /// What a partial send left is sent from its beginning.
    RepeatsPartialSends = "repeats-partial-sends",

    // The loop.
    /// It asks for input that it does not take while output is blocked.
    SpinsWhileBlocked = "spins-while-blocked",
    /// Write interest, once wanted, stays on.
    LeavesWriteInterest = "leaves-write-interest",
    /// Edge-triggered, but reads once for each event.
    ReadsOnceAnEdge = "reads-once-an-edge",
    /// Two writes a reply with Nagle's algorithm on.
    DelaysReplies = "delays-replies",

    // Time.
    /// Deadlines are looked at every now and then.
    ScansClockLate = "scans-clock-late",
    /// Deadlines are early.
    FiresEarly = "fires-early",
    /// Input counts as life of a connection whose output is stuck.
    InputKeepsStuckAlive = "input-keeps-stuck-alive",
    /// The clock of a stall is started by the first one and cleared by no progress.
    AddsStallsUp = "adds-stalls-up",
}
