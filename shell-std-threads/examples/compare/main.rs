//! An event loop against a thread a connection: memory, threads and time for the same clients, as a Markdown table.
//!
//! ```sh
//! cargo run --release -p evserver-threads --example compare
//! ```
//!
//! It builds both servers, runs them in turn, and ends after about a minute. Figures are medians of the runs. The
//! clients are one thread that sends a line on each connection and then reads each reply; all traffic is loopback.

#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod table;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use clap::Parser;
    use evserver_conformance::NotPassed;

    /// Compares an event loop with a thread a connection
    #[derive(Parser)]
    struct Args {
        /// Clients at a time; may be repeated
        #[arg(long, value_name = "N", default_values_t = [500, 5000])]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=15_000))]
        clients: Vec<u32>,

        /// Replies that each server gives in a run, over all clients
        #[arg(long, value_name = "N", default_value_t = 100_000)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
        replies: u32,

        /// Runs of each server, in turn
        #[arg(long, value_name = "N", default_value_t = 3)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
        runs: u32,
    }

    let Args { clients, replies, runs } = Args::parse();
    let compare = || -> Result<(), NotPassed> {
        let servers = measure::build()?;
        evserver_hosted::raise_descriptor_limit();
        println!("{}", table::HEAD);
        for &clients in &clients {
            let mut rows: Vec<Vec<measure::Figures>> = servers.iter().map(|_| Vec::new()).collect();
            for _ in 0..runs {
                for (server, row) in servers.iter().zip(&mut rows) {
                    row.push(measure::run(server, clients, replies)?);
                }
            }
            for (server, row) in servers.iter().zip(&rows) {
                println!("{}", table::row(server.name, clients, row));
            }
        }
        Ok(())
    };
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error:?}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("compare: it reads what Linux says of a process in /proc");
    ExitCode::FAILURE
}
