//! `evserver-compare`: a server beside a reference, figure by figure, with what each figure is to reach.
//!
//! Rounds alternate between the two servers, each started afresh on a processor of its own with the load on another,
//! so that what drifts on the machine meets both. What counts is the ratio of the medians.

#[cfg(target_os = "linux")]
mod figure;
#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
mod list;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod roles;
#[cfg(target_os = "linux")]
mod rows;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod trace;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use clap::Parser;
    use std::process::ExitCode;

    let options = options::Options::parse();
    match options.run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("evserver-compare: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("evserver-compare: needs Linux, for epoll and /proc");
    std::process::ExitCode::FAILURE
}
