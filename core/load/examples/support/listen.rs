//! What the servers in this folder have in common: `--listen ADDR:PORT`, and the line that says where.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// As many as the other servers let wait; the 128 that `TcpListener::bind` takes are overrun by a load of thousands.
const BACKLOG: u32 = 512;

/// Listens where the command line says, by default on a free port, and prints the address.
pub async fn announce() -> std::io::Result<TcpListener> {
    let mut arguments = std::env::args().skip(1);
    let address = match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, ..) => "127.0.0.1:0".to_string(),
        (Some("--listen"), Some(address), None) => address,
        _ => {
            eprintln!("usage: [--listen ADDR:PORT]");
            std::process::exit(2);
        }
    };
    let address: SocketAddr = address.parse().map_err(std::io::Error::other)?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    println!("listening on {}", listener.local_addr()?);
    Ok(listener)
}
