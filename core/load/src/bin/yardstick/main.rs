//! `evserver-yardstick`: the bare loop that servers are measured against.
//!
//! It receives and sends the same bytes back: what a reply costs when nothing is parsed, numbered or limited. Its
//! buffer is as large as a server's, its sockets have the same options, it makes the same system calls as the
//! leanest server can: one receive and one send for a request, and a share of a wait. It is no server to use: it
//! knows no limits, no timeouts, and waits for a client that does not read.

#[cfg(target_os = "linux")]
mod connections;
#[cfg(target_os = "linux")]
mod epoll;
#[cfg(target_os = "linux")]
mod poll;

#[cfg(target_os = "linux")]
#[derive(Debug, clap::Parser)]
#[command(name = "evserver-yardstick", version, about = "A bare echo loop to measure servers against")]
struct Options {
    /// Where to listen; port 0 lets the kernel choose
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8081")]
    listen: std::net::SocketAddr,
    /// Say `ready` to each client at accept
    #[arg(long)]
    greeting: bool,
    /// Use poll(2) instead of epoll(7)
    #[arg(long)]
    poll: bool,
    /// Connections that may wait to be accepted
    #[arg(long, value_name = "N", default_value_t = 512)]
    backlog: i32,
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use clap::Parser;
    use std::io::Write;

    let options = Options::parse();
    let served = connections::listen(options.listen, options.backlog).and_then(|(listener, address)| {
        // Nobody may read it; that is no reason to stop.
        let _ = writeln!(std::io::stdout(), "listening on {address}");
        if options.poll {
            poll::serve(&listener, options.greeting)
        } else {
            epoll::serve(&listener, options.greeting)
        }
    });
    match served {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("evserver-yardstick: cannot serve on {}: {error}", options.listen);
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("evserver-yardstick: needs Linux, for epoll");
    std::process::ExitCode::FAILURE
}
