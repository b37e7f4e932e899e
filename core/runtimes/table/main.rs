//! Replays every transcript on every runtime that can run here, and prints a table of what came.
//!
//! ```sh
//! cargo run --release -p evserver-runtimes --bin transcripts-table
//! ```
//!
//! Builds what it runs. Exits with 1 when one runtime answers one transcript otherwise in one manner.
#![forbid(unsafe_code)]

mod replays;
mod row;
mod runtimes;

use std::process::ExitCode;

use evserver_runtimes::transcripts;
use row::Row;
use runtimes::RUNTIMES;

fn main() -> ExitCode {
    let all = match transcripts() {
        Ok(all) => all,
        Err(error) => return fail(&format!("the transcripts cannot be read: {error}")),
    };
    if let Err(what) = runtimes::build() {
        return fail(&what);
    }
    let rows: Vec<Row> = RUNTIMES
        .iter()
        .map(|runtime| {
            eprintln!("{} …", runtime.name);
            Row { name: runtime.name, result: runtime.replay(&all) }
        })
        .collect();
    print!("{}", row::table(&rows));
    let differences: Vec<String> = rows.iter().flat_map(Row::differences).collect();
    for difference in &differences {
        println!("\n{difference}");
    }
    if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fail(what: &str) -> ExitCode {
    eprintln!("transcripts-table: {what}");
    ExitCode::FAILURE
}
