//! Opens many connections without overrunning the server's listen queue.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use crate::dialer::Dialer;
use crate::failure::{Failure, Outcome};
use crate::link::{Link, RECEIVE_BYTES};
use crate::poller::Poller;
use crate::progress::Progress;
use crate::script::Script;

/// Connections that may be in the making: as many at once as a listen queue of 512 surely takes, so that a busy
/// machine changes between client and server seldom. With a shorter queue, whoever does not fit is silently dropped
/// by the kernel and tries again after a second.
const OPENING_MAX: usize = 400;

/// When a connection counts as open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It was greeted; with a server that does not greet, as [`Proof::Line`].
    Greeting,
    /// Its first line was answered.
    Line,
}

/// Opens the connections `keys` and hands each to `opened` once the server has shown that it serves it.
///
/// They are watched by `poller` then. An event of any other connection of `poller` is a failure: nobody else has
/// asked for anything.
pub fn open(
    poller: &mut Poller,
    dialer: &mut Dialer,
    script: &Script,
    keys: Range<u64>,
    proof: Proof,
    progress: &mut Progress,
    mut opened: impl FnMut(&Poller, Link) -> Outcome<()>,
) -> Outcome<()> {
    let with_line = proof == Proof::Line || !script.greets();
    let goal = keys.end - keys.start;
    let mut waiting = keys;
    let mut opening: HashMap<u64, Link> = HashMap::with_capacity(OPENING_MAX);
    let mut buffer = vec![0; RECEIVE_BYTES];
    let mut scratch = Vec::new();
    let mut done = 0;
    let patience = dialer.patience();
    while done < goal {
        while opening.len() < OPENING_MAX
            && let Some(key) = waiting.next()
        {
            let mut link = Link::new(poller, dialer.dial()?, script, key)?;
            if with_line && !script.greets() {
                link.send_lines(poller, script, 1, &mut scratch, Instant::now())?;
            }
            opening.insert(key, link);
        }
        let count = poller.wait(patience)?;
        if count == 0 {
            let what = format!("{} connections are being opened, {done} are open", opening.len());
            return Err(Failure::Stalled { waited: patience, what });
        }
        for index in 0..count {
            let ready = poller.ready(index);
            let Some(link) = opening.get_mut(&ready.key) else {
                let why = format!("an event on connection {}, which waits for nothing", ready.key);
                return Err(Failure::Refused(why));
            };
            if ready.writable {
                link.flush(poller)?;
            }
            if !ready.readable {
                continue;
            }
            link.receive_replies(script, &mut buffer)?;
            if with_line && link.sent == 0 && link.replies.greeted() {
                link.send_lines(poller, script, 1, &mut scratch, Instant::now())?;
            } else if link.replies.greeted() && link.is_answered() {
                let link = opening.remove(&ready.key).expect("it was just found");
                opened(poller, link)?;
                done += 1;
                progress.show(|| format!("{done} of {goal} connections open"));
            }
        }
    }
    progress.clear();
    Ok(())
}
