//! What the servers in this folder have in common: `--listen ADDR:PORT`, and the line that says where.

use tokio::net::TcpListener;

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
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(listener)
}
