//! A connection as a task: the drive loop.

use std::mem::take;

use evserver_core::{
    Buffers, CloseReason, Connection, Interest, NumberedEcho, Readiness, TURN_BYTES, Time, Turn, drive,
};
use tokio::select;
use tokio::task::yield_now;
use tokio::time::sleep_until;

use crate::shared::{Phase, Shared};
use crate::wire::Wire;

/// Serves a client to its end. The numbers are those of `Connection`'s documentation.
pub async fn serve(
    mut wire: Wire,
    mut connection: Connection<NumberedEcho, Box<Buffers>>,
    shared: &Shared,
) -> CloseReason {
    let clock = shared.clock;
    let mut phase = shared.phase.subscribe();
    let mut readiness = Readiness::NONE;
    let mut due = false;
    loop {
        match *phase.borrow_and_update() {
            Phase::Serving => {}
            Phase::Draining => connection.drain(),
            Phase::Over => connection.abandon(CloseReason::DrainTimeout),
        }
        // 1. Buffers are lent only while there are bytes: who waits for input has none until some has come.
        let idle = connection.interest() == Interest::Read && !readiness.readable;
        if !connection.has_buffers() && !idle {
            connection.lend(shared.pool.borrow_mut().take(), clock.stamp());
        }
        // 2, 3, 4 and 7.
        wire.ask_the_kernel = due || connection.owes_receive();
        let turn = drive(&mut connection, &mut wire, &mut readiness, clock.stamp(), TURN_BYTES);
        if take(&mut due) {
            connection.handle_timeout(clock.now());
            continue;
        }
        match turn {
            // 5.
            Turn::Closed(reason) => return reason,
            // It has had its share; now the others.
            Turn::Again => yield_now().await,
            // 6.
            Turn::Waiting | Turn::Lend => {
                if let Some(buffers) = connection.reclaim() {
                    shared.pool.borrow_mut().put(buffers);
                }
                let interest = connection.interest();
                select! {
                    biased;
                    () = wire.ready(interest) => {
                        readiness = Readiness { readable: interest == Interest::Read, ..Readiness::NONE };
                    }
                    _ = phase.changed() => {}
                    () = until(shared, connection.deadline()) => (readiness, due) = (Readiness::ATTEMPT, true),
                }
            }
        }
    }
}

async fn until(shared: &Shared, deadline: Option<Time>) {
    match deadline {
        Some(deadline) => sleep_until(shared.clock.instant(deadline).into()).await,
        None => std::future::pending().await,
    }
}
