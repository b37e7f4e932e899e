//! `evserver-load`: load for a line server, every reply checked byte for byte.

#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod text;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use clap::Parser;
    use evserver_load::progress::Progress;
    use std::io::Write;

    let options = options::Options::parse();
    let mut progress = Progress::start();
    let outcome = options.run(&mut progress);
    progress.clear();
    match outcome {
        Ok(report) => {
            let text = if options.json { report.to_json() + "\n" } else { report.to_text() };
            if let Err(error) = std::io::stdout().write_all(text.as_bytes()) {
                eprintln!("evserver-load: standard output: {error}");
                return std::process::ExitCode::FAILURE;
            }
        }
        Err(failure) => {
            if options.json {
                println!("{}", serde_json::json!({ "errors": 1, "error": failure.to_string() }));
            }
            eprintln!("evserver-load: {failure}");
            return std::process::ExitCode::FAILURE;
        }
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("evserver-load: needs Linux, for epoll and /proc");
    std::process::ExitCode::FAILURE
}
