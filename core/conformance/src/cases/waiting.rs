//! Connections that wait for their peer, each kind by itself: none of them may wake the server.

use std::net::SocketAddr;
use std::time::Duration;

use super::holding::{SMALL_BUFFER_BYTES, held_back_bytes};
use super::watch::{at_rest, quiet};
use crate::model::answer;
use crate::queues::Ends;
use crate::{Case, Client, Context, Needs, NotPassed, Outcome, Pace, ensure};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "waiting::blocked_connections_wake_nobody",
        rule: "rule 6: write only while output is pending; rule 7: blocked connections cost no CPU",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: blocked_connections_wake_nobody,
    },
    Case {
        name: "waiting::half_closed_connections_wake_nobody",
        rule: "rule 4: level mode never asks for the peer's half-close; rule 7: half-closed connections cost no CPU",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: half_closed_connections_wake_nobody,
    },
    Case {
        name: "waiting::lingering_connections_wake_nobody",
        rule: "rule 5: what still arrives is discarded for two seconds; rule 7: lingering connections cost no CPU",
        needs: Needs::Spawn,
        pace: Pace::Together,
        run: lingering_connections_wake_nobody,
    },
];

/// Of each kind.
const CLIENTS: usize = 10;

/// For so long nothing more is taken of a client that is held back.
const TAKES_NOTHING: Duration = Duration::from_millis(200);

/// What the kernel's buffers may take before a client that does not read is held back.
const KERNEL_BYTES: usize = 64 << 20;

/// A client that has sent until nothing more was taken, and has read nothing.
fn blocked(address: SocketAddr) -> Result<Client, NotPassed> {
    let mut client = Client::connect_small(address, SMALL_BUFFER_BYTES)?;
    client.flood(b"abc\n", TAKES_NOTHING, KERNEL_BYTES)?;
    Ok(client)
}

fn blocked_connections_wake_nobody(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    let clients = (0..CLIENTS).map(|_| blocked(server.address())).collect::<Result<Vec<_>, _>>()?;
    quiet(&server, Duration::from_secs(2), 1, "with clients that send and do not read")?;
    drop(clients);
    quiet(&server, Duration::from_secs(1), 1, "after clients that did not read have gone")
}

fn half_closed_connections_wake_nobody(context: &Context) -> Outcome {
    // To find out how much the buffers take takes time, in which the first ones must not expire.
    let server = context.spawn(&["--idle-timeout", "0"])?;
    let mut clients = (0..3).map(|_| half_closed(server.address())).collect::<Result<Vec<_>, _>>()?;
    quiet(&server, Duration::from_secs(2), 1, "with clients that have ended their side and read nothing")?;
    for (client, input) in &mut clients {
        client.widen()?;
        client.expect(&answer(input).bytes)?;
        client.expect_end()?;
    }
    Ok(())
}

/// A client whose end of stream the server has got while it holds replies back; and what it sent.
///
/// The replies must not fit in the kernel's buffers while the lines do: another client, which only floods, shows how much
/// the server takes before it stops and how much waits for it then. Half of that is where the end of this stream goes.
fn half_closed(address: SocketAddr) -> Result<(Client, Vec<u8>), NotPassed> {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let mut other = Client::connect_small(address, SMALL_BUFFER_BYTES)?;
        let sent = other.flood(b"a\n", TAKES_NOTHING, KERNEL_BYTES)?;
        let ends = Ends::still(&other)?;
        let taken = sent.saturating_sub(ends.client.send_bytes + ends.server.receive_bytes);
        let input = b"a\n".repeat((taken + ends.server.receive_bytes / 2) / 2);

        let mut client = Client::connect_small(address, SMALL_BUFFER_BYTES)?;
        client.send(&input)?;
        client.half_close()?;
        // When nothing is held back, the server has got rid of everything, and of the connection perhaps.
        let held_back = match held_back_bytes(&client, &input) {
            Err(NotPassed::Failed(_)) => 0,
            other => other?,
        };
        if held_back > 0 && Ends::of(&client)?.client.send_bytes == 0 {
            return Ok((client, input));
        }
    }
    Err(NotPassed::skipped_loudly("the buffers here are such that a half-closed connection is never blocked"))
}

fn lingering_connections_wake_nobody(context: &Context) -> Outcome {
    let server = context.spawn(&[])?;
    let before = at_rest(&server)?;
    let mut clients = (0..CLIENTS).map(|_| Client::greeted(server.address())).collect::<Result<Vec<_>, _>>()?;
    for client in &mut clients {
        client.send(b"quit\n")?;
    }
    for client in &mut clients {
        client.expect(b"bye\n")?;
        client.expect_end()?;
    }
    // The clients do not close. Two seconds later the server gives them up: a timer for each, at most two wake-ups for it.
    quiet(&server, Duration::from_secs(4), 2 * CLIENTS as u64, "with clients that stay after \"bye\"")?;
    let left = server.usage()?.descriptors;
    ensure!(
        left <= before.descriptors,
        "the server had {} descriptors without clients; {CLIENTS} that stayed for more than 4 s after \"bye\" hold it at {left}",
        before.descriptors
    );
    quiet(&server, Duration::from_secs(1), 0, "after clients that stayed were given up")
}
