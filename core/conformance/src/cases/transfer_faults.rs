//! Receives and sends that fail, made so by `strace`.

use super::faults::{at_the_start, case, faults_are_over, is_whole, something_failed};
use super::watch::{answers, at_rest, ends_with_report};
use crate::process::{Launch, Server, Signal};
use crate::{Case, Client, Context, DEADLINE, GREETING, NotPassed, Outcome, ensure};

pub(crate) const CASES: &[Case] = &[
    case(
        "faults::interrupted_transfers_are_repeated",
        "rule 2: replies are whole",
        interrupted_transfers_are_repeated,
    ),
    case(
        "faults::a_failed_transfer_ends_one_connection",
        "rule 4: an error says that the peer is gone: that connection ends, no other",
        a_failed_transfer_ends_one_connection,
    ),
];

const RECEIVE: &[&str] = &["recvfrom", "recvmsg"];
const SEND: &[&str] = &["sendto", "sendmsg"];

fn interrupted_transfers_are_repeated(context: &Context) -> Outcome {
    let launch =
        context.launch(&[])?.inject(RECEIVE, "error=EINTR:when=1+2")?.inject(SEND, "error=EINTR:when=1+2")?;
    let mut server =
        interrupted(launch).map_err(|error| error.within("every second receive and send is interrupted"))?;
    // Threads wake each other by a send as well, which in truth no signal can interrupt.
    if !context.traits().thread_a_connection {
        server.signal(Signal::Terminate)?;
        ends_with_report(&mut server, DEADLINE)?;
    }

    // Whoever uses these for its connections uses them for other things too, in which a signal cannot interrupt them: so
    // no more is asked than that clients are served.
    let reads = at_the_start(context, "read")? + 1;
    let writes = at_the_start(context, "write")? + 1;
    let launch = context
        .launch(&[])?
        .inject(&["read"], &format!("error=EINTR:when={reads}+2"))?
        .inject(&["write"], &format!("error=EINTR:when={writes}+2"))?;
    match interrupted(launch) {
        Ok(_) | Err(NotPassed::Skipped { .. }) => Ok(()),
        Err(error) => Err(error.within("every second read and write is interrupted")),
    }
}

fn interrupted(launch: Launch) -> Result<Server, NotPassed> {
    let mut server = launch.start()?;
    let before = at_rest(&server)?;
    let mut client = Client::greeted(server.address())?;
    for number in 1..=50 {
        answers(&mut client, number)?;
    }
    let lines = b"abc\n".repeat(5000);
    let replies: String = (51..=5050).map(|n| format!("{n}: abc\n")).collect();
    client.exchange(&lines, replies.as_bytes())?;
    client.half_close()?;
    client.expect_end()?;
    drop(client);
    is_whole(&mut server, before)?;
    Ok(server)
}

fn a_failed_transfer_ends_one_connection(context: &Context) -> Outcome {
    for (calls, error) in [(RECEIVE, "ECONNRESET"), (RECEIVE, "ETIMEDOUT"), (SEND, "ECONNRESET"), (SEND, "EPIPE")] {
        let what = format!("the eighth to the tenth {} fail with {error}", calls.join(" or "));
        let launch = context.launch(&[])?.inject(calls, &format!("error={error}:when=8..10"))?;
        long_and_short(launch).map_err(|failed| failed.within(what))?;
    }
    Ok(())
}

/// Long conversations, of which some meet a fault, and then short ones. strace counts the calls of each thread for itself:
/// where each connection has a thread, only what is short is spared.
fn long_and_short(launch: Launch) -> Outcome {
    const FAULTS: usize = 3;
    const LINES: u64 = 20;
    let mut server = launch.start()?;
    let before = at_rest(&server)?;
    let (mut lost, mut conversations) = (0, 0);
    while server.trace()?.injected()? < FAULTS && conversations < 2 * FAULTS {
        conversations += 1;
        let mut client = Client::connect(server.address())?;
        let served = client.expect(GREETING).and_then(|()| (1..=LINES).try_for_each(|n| answers(&mut client, n)));
        lost += usize::from(served.is_err());
        server.ensure_alive()?;
    }
    something_failed(&server)?;
    ensure!(lost > 0, "calls failed as they do when a peer is gone, and none of {conversations} connections ended");
    faults_are_over(&server)?;
    is_whole(&mut server, before)
}
