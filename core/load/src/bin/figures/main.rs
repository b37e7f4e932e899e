//! `evserver-figures`: the tables and plots that say what the servers cost, made by one command.
//!
//! It runs the whole comparison, then goes through numbers of connections with every server that there is, and writes
//! a Markdown file, two SVG plots and the data, from which the plots can be drawn again.

#[cfg(target_os = "linux")]
mod axis;
#[cfg(target_os = "linux")]
mod contestant;
#[cfg(target_os = "linux")]
mod data;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod plot;
#[cfg(target_os = "linux")]
mod plots;
#[cfg(target_os = "linux")]
mod sweep;
#[cfg(target_os = "linux")]
mod tables;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use clap::Parser;
    use std::process::ExitCode;

    match options::Options::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("evserver-figures: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("evserver-figures: needs Linux, for epoll and /proc");
    std::process::ExitCode::FAILURE
}
