//! Asks the kernel about one socket over netlink: sock_diag(7).
//!
//! `/proc/net/tcp` tells the same, but of all sockets at once: on a machine that has just seen many short connections that is
//! tens of thousands of lines a look.

use std::io;
use std::net::SocketAddr;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{
    AF_INET, AF_INET6, IPPROTO_TCP, TCP_CLOSE_WAIT, TCP_ESTABLISHED, TCP_LISTEN,
};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::Queues;

/// Larger than an answer about one socket without extensions.
const ANSWER_BYTES: usize = 4096;

/// A socket is meant by its addresses alone.
const NO_COOKIE: [u8; 8] = [0xff; 8];

/// The queues of the TCP socket with these addresses; `None` when there is none.
///
/// # Errors
/// Those of socket(2), send(2) and recv(2), and the kernel's own.
pub(super) fn queues(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<Queues>> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    let mut answer = Vec::with_capacity(ANSWER_BYTES);
    socket.send(&question(local, remote), 0)?;
    socket.recv(&mut answer, 0)?;
    let answer = NetlinkMessage::<SockDiagMessage>::deserialize(&answer).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found)) => {
            let found = &found.header;
            // Where no connection has these addresses the kernel finds the listener.
            Ok((found.state != TCP_LISTEN).then_some(Queues {
                send_bytes: found.send_queue as usize,
                receive_bytes: found.recv_queue as usize,
                // Without a descriptor there is no inode; so it is before the program accepts, when the server's side has
                // not ended.
                closed: found.inode == 0 && !matches!(found.state, TCP_ESTABLISHED | TCP_CLOSE_WAIT),
            }))
        }
        NetlinkPayload::Error(error) if error.to_io().kind() == io::ErrorKind::NotFound => Ok(None),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        other => Err(io::Error::other(format!("an answer that was not asked for: {other:?}"))),
    }
}

fn question(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    // A mapped address is that of an IPv4 connection.
    let (source, destination) = (local.ip().to_canonical(), remote.ip().to_canonical());
    let request = InetRequest {
        family: if source.is_ipv4() { AF_INET } else { AF_INET6 },
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::all(),
        socket_id: SocketId {
            source_port: local.port(),
            destination_port: remote.port(),
            source_address: source,
            destination_address: destination,
            interface_id: 0,
            cookie: NO_COOKIE,
        },
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}
