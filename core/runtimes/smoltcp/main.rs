//! `evserver-smoltcp`: the core on a network stack that is a library, in one loop that never blocks.
//!
//! No system call is made and no clock is read: the stack's loopback device carries the segments, and time passes when
//! nothing else happens. The clients are on the same stack, and replay the transcripts.
#![forbid(unsafe_code)]

mod client;
mod server;
mod talk;
#[cfg(test)]
mod tests;
mod wire;
mod world;

use std::io;
use std::process::ExitCode;

use evserver_conformance::{Manner, Random};
use evserver_core::Buffers;
use evserver_runtimes::{Named, transcripts};
use talk::Talk;
use world::{Outcome, PAIRS, SOCKETS, World};

/// Rounds with random cuts.
const RANDOM_ROUNDS: u64 = 5;

fn main() -> io::Result<ExitCode> {
    let all = transcripts()?;
    let mut pairs = [const { Buffers::new() }; PAIRS];
    let mut world = World::new(&mut pairs);
    let (mut replays, mut failed) = (0, false);
    for manner in Manner::ALL {
        let outcome = replay(&mut world, &all, manner);
        for different in &outcome.different {
            println!("FAILED {different}");
        }
        replays += outcome.whole;
        failed |= !outcome.different.is_empty();
    }
    if failed {
        return Ok(ExitCode::FAILURE);
    }
    let manners = Manner::ALL.len();
    println!("replayed {} transcripts {replays} over its loopback device, in {manners} manners", all.len());
    println!(
        "{SOCKETS} sockets had {PAIRS} pairs of buffers: a connection waited for some in {} turns",
        world.waits()
    );
    println!("{} ms passed, without a clock", world.now().as_ms());
    Ok(ExitCode::SUCCESS)
}

/// Replays every conversation in one manner.
fn replay(world: &mut World<'_>, all: &[Named], manner: Manner) -> Outcome {
    let rounds = if manner == Manner::RandomCuts { RANDOM_ROUNDS } else { 1 };
    let mut talks = Vec::new();
    for round in 0..rounds {
        let mut random = Random::new(round);
        talks.extend(all.iter().map(|named| Talk::new(&named.name, &named.transcript(), manner, &mut random)));
    }
    world.play(talks)
}
