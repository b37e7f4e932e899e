//! Over real sockets of this machine; what it does not do itself is put in by `System`.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use socket2::Socket;

use super::*;

fn at(texts: &[&str]) -> Vec<ListenAddress> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn open(texts: &[&str]) -> Vec<Listening> {
    listen(&at(texts), &ListenOptions::default()).unwrap()
}

/// Whether a client that connects to this address arrives at this listener.
fn reaches(listening: &Listening, to: impl Into<SocketAddr>) -> bool {
    let Ok(client) = TcpStream::connect(to.into()) else { return false };
    let (mut served, _) = listening.listener.accept().unwrap();
    served.set_nonblocking(false).unwrap();
    served.write_all(b"x").unwrap();
    drop(served);
    let mut text = String::new();
    (&client).read_to_string(&mut text).unwrap();
    text == "x"
}

fn v4(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn v6(port: u16) -> SocketAddr {
    (Ipv6Addr::LOCALHOST, port).into()
}

/// Tries with ports that were free a moment ago, again where someone else was quicker to take one.
fn at_a_free_port(open_at: impl Fn(u16) -> Result<Vec<Listening>, ListenError>) -> (u16, Vec<Listening>) {
    for _ in 0..20 {
        let port = open(&[":0"])[0].address.port();
        match open_at(port) {
            Ok(listening) => return (port, listening),
            Err(error) if error.io_error().kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("no port stays free");
}

#[test]
fn the_default_takes_ipv6_and_ipv4_clients_on_one_socket() {
    let listening = listen(&[ListenAddress::any(0)], &ListenOptions::default()).unwrap();
    let [both] = &listening[..] else { panic!("{listening:?}") };
    assert_eq!(both.address.ip(), Ipv6Addr::UNSPECIFIED);
    assert!(reaches(both, v4(both.address.port())));
    assert!(reaches(both, v6(both.address.port())));
}

#[test]
fn the_command_line_decides_where() {
    let args = crate::cli::CommonArgs {
        port: 1,
        listen: at(&["127.0.0.1:0", "[::1]:0"]),
        idle_ms: 0,
        line_ms: 0,
        drain_ms: 0,
        max_connections: None,
        backlog: 7,
    };
    let listening = listen_all(&args).unwrap();
    let hosts: Vec<_> = listening.iter().map(|one| one.address.ip().to_string()).collect();
    assert_eq!(hosts, ["127.0.0.1", "::1"]);
    assert!(listening.iter().all(|one| one.options.backlog == 7 && !one.options.blocking));
}

#[test]
fn the_options_are_set_on_every_socket() {
    for text in ["127.0.0.1:0", "[::1]:0", ":0"] {
        let [one] = &open(&[text])[..] else { panic!("{text}") };
        let socket = SockRef::from(&one.listener);
        assert!(socket.tcp_nodelay().unwrap());
        #[cfg(unix)]
        {
            assert!(socket.reuse_address().unwrap());
            assert!(socket.nonblocking().unwrap());
            assert!(rustix::io::fcntl_getfd(&one.listener).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        }
    }
}

#[test]
fn a_shell_with_threads_gets_sockets_that_block() {
    let blocking = ListenOptions { blocking: true, ..ListenOptions::default() };
    let one = listen(&at(&["127.0.0.1:0"]), &blocking).unwrap().remove(0);
    let client = std::thread::spawn(move || TcpStream::connect(one.address).unwrap());
    one.listener.accept().unwrap();
    client.join().unwrap();

    let waits = Listening::from_std(one.listener, &ListenOptions::default()).unwrap();
    assert_eq!(waits.listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(waits.address, one.address);
}

#[cfg(target_os = "linux")]
#[test]
fn accepted_connections_inherit_no_delay() {
    let one = open(&["127.0.0.1:0"]).remove(0);
    let _client = TcpStream::connect(one.address).unwrap();
    assert!(one.listener.accept().unwrap().0.nodelay().unwrap());
}

#[test]
fn a_port_that_is_taken_is_refused_by_name() {
    let first = open(&["127.0.0.1:0"]).remove(0);
    for reuse_port in [false, true] {
        let options = ListenOptions { reuse_port, ..ListenOptions::default() };
        let error = listen(&at(&[&first.address.to_string()]), &options).unwrap_err();
        assert_eq!(error.io_error().kind(), io::ErrorKind::AddrInUse);
        let message = error.to_string();
        assert!(message.starts_with(&format!("cannot listen on {}: Address already in use", first.address)));
        assert!(!message.contains("os error"), "{message}");
    }
}

#[test]
fn the_message_of_a_port_that_is_not_allowed() {
    let denied = io::Error::new(io::ErrorKind::PermissionDenied, "Permission denied (os error 13)");
    let error = ListenError::new("[::]:80".parse::<ListenAddress>().unwrap(), denied);
    assert_eq!(error.to_string(), "cannot listen on [::]:80: Permission denied");
}

#[test]
fn an_address_of_another_machine_is_refused() {
    // TEST-NET-1 of RFC 5737, which no machine has.
    let error = listen(&at(&["192.0.2.1:0"]), &ListenOptions::default()).unwrap_err();
    assert_eq!(error.io_error().kind(), io::ErrorKind::AddrNotAvailable);
    assert!(error.to_string().starts_with("cannot listen on 192.0.2.1:0: "), "{error}");
}

#[test]
fn a_name_is_listened_on_at_all_its_addresses_each_with_a_port_of_its_own() {
    let places = resolve::places(&at(&["localhost:0"])).unwrap();
    let listening = open(&["localhost:0"]);
    assert!(!listening.is_empty() && listening.len() <= places[0].addresses().len());
    for one in &listening {
        assert!(one.address.ip().is_loopback() && one.address.port() != 0);
        assert!(reaches(one, one.address));
    }
}

#[test]
fn ipv4_beside_ipv6_makes_the_ipv6_socket_leave_ipv4_alone() {
    for order in [["0.0.0.0", "[::]"], ["[::]", "0.0.0.0"], ["", "0.0.0.0"]] {
        let (port, listening) = at_a_free_port(|port| {
            let texts = order.map(|host| format!("{host}:{port}"));
            listen(&at(&texts.each_ref().map(String::as_str)), &ListenOptions::default())
        });
        assert_eq!(listening.len(), 2);
        for one in &listening {
            assert_eq!(one.address.port(), port);
            assert!(reaches(one, if one.address.is_ipv4() { v4(port) } else { v6(port) }));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_server_starts_again_at_once_on_the_port_it_closed_connections_on() {
    at_a_free_port(|port| {
        let one = listen(&[ListenAddress::any(port)], &ListenOptions::default())?;
        let mut client = TcpStream::connect(v4(port)).unwrap();
        // The server's side closes first, so its end of the connection is the one that stays in TIME_WAIT.
        drop(one[0].listener.accept().unwrap());
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
        drop(client);
        drop(one);
        listen(&[ListenAddress::any(port)], &ListenOptions::default())
    });
}

// What this system does not do.

fn no_ipv6(address: SocketAddr) -> io::Result<Socket> {
    if address.is_ipv6() {
        // What a kernel without IPv6 says to socket(2).
        #[cfg(unix)]
        let code = rustix::io::Errno::AFNOSUPPORT.raw_os_error();
        #[cfg(not(unix))]
        let code = 10047;
        return Err(io::Error::from_raw_os_error(code));
    }
    socket::stream(address)
}

/// OpenBSD: IPV6_V6ONLY is always on.
fn never_dual(socket: &Socket) -> io::Result<()> {
    socket.set_only_v6(true)?;
    Err(io::ErrorKind::InvalidInput.into())
}

const NO_IPV6: System = System { stream: no_ipv6, ..System::REAL };
const NEVER_DUAL: System = System { dual_stack: never_dual, ..System::REAL };

fn open_on(system: &System, texts: &[&str]) -> Result<Vec<Listening>, ListenError> {
    listen_on(&at(texts), &ListenOptions::default(), system)
}

#[test]
fn without_ipv6_the_default_is_ipv4_alone() {
    let listening = open_on(&NO_IPV6, &[":0"]).unwrap();
    let [one] = &listening[..] else { panic!("{listening:?}") };
    assert_eq!(one.address.ip(), Ipv4Addr::UNSPECIFIED);
    assert!(reaches(one, v4(one.address.port())));
}

#[test]
fn without_ipv6_the_fallback_does_not_collide_with_ipv4_that_was_asked_for() {
    let (port, listening) =
        at_a_free_port(|port| open_on(&NO_IPV6, &[&format!(":{port}"), &format!("0.0.0.0:{port}")]));
    let [one] = &listening[..] else { panic!("{listening:?}") };
    assert_eq!(one.address.to_string(), format!("0.0.0.0:{port}"));
}

#[test]
fn without_ipv6_an_ipv6_address_that_was_asked_for_is_an_error() {
    for text in ["[::1]:0", "[::]:0"] {
        let error = open_on(&NO_IPV6, &[text]).unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot listen on {text}: ")), "{error}");
    }
}

#[test]
fn without_ipv6_a_name_still_has_its_ipv4_address() {
    let both = [v6(0), v4(0)];
    let listening = host(&both, &[], &ListenOptions::default(), &NO_IPV6).unwrap();
    let [one] = &listening[..] else { panic!("{listening:?}") };
    assert_eq!(one.address.ip(), Ipv4Addr::LOCALHOST);
    host(&both[..1], &[], &ListenOptions::default(), &NO_IPV6).unwrap_err();
}

#[test]
fn where_one_socket_cannot_do_both_there_are_two_on_one_port() {
    for text in [":0", "[::]:0"] {
        let listening = open_on(&NEVER_DUAL, &[text]).unwrap();
        let [six, four] = &listening[..] else { panic!("{listening:?}") };
        assert!(six.address.is_ipv6() && four.address.is_ipv4());
        assert_eq!(six.address.port(), four.address.port());
        assert!(reaches(six, v6(six.address.port())) && reaches(four, v4(four.address.port())));
    }
}

#[test]
fn where_there_are_two_sockets_a_free_port_is_free_for_both() {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    fn taken_at_first(address: SocketAddr) -> io::Result<Socket> {
        if address.is_ipv4() && TAKEN.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        socket::stream(address)
    }
    let system = System { stream: taken_at_first, ..NEVER_DUAL };
    TAKEN.store(PORT_TRIES - 1, Relaxed);
    assert_eq!(open_on(&system, &[":0"]).unwrap().len(), 2);
    TAKEN.store(PORT_TRIES, Relaxed);
    assert_eq!(open_on(&system, &[":0"]).unwrap_err().io_error().kind(), io::ErrorKind::AddrInUse);
}

#[test]
fn where_there_are_two_sockets_a_port_that_is_taken_on_ipv4_is_said() {
    let taken = open(&["0.0.0.0:0"]).remove(0);
    let error = open_on(&NEVER_DUAL, &[&format!(":{}", taken.address.port())]).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen on {}: ", taken.address)), "{error}");
}

#[cfg(unix)]
mod reuse_port {
    use super::*;

    #[test]
    fn another_socket_shares_the_port_and_the_clients() {
        let options = ListenOptions { reuse_port: true, ..ListenOptions::default() };
        for text in ["127.0.0.1:0", ":0"] {
            let first = listen(&at(&[text]), &options).unwrap().remove(0);
            let second = first.another().unwrap();
            assert_eq!(second.address, first.address);
            let port = first.address.port();
            let clients: Vec<_> = (0..64).map(|_| TcpStream::connect(v4(port)).unwrap()).collect();
            let accepted = |listener: &TcpListener| std::iter::from_fn(|| listener.accept().ok()).count();
            let counts = [accepted(&first.listener), accepted(&second.listener)];
            assert_eq!(counts[0] + counts[1], clients.len(), "{counts:?}");
            // Loopback connects are complete when connect returns; that one of two gets all 64 is a chance of 2^-63.
            if cfg!(target_os = "linux") {
                assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
            }
        }
    }

    #[test]
    fn without_the_option_there_is_no_other() {
        assert_eq!(open(&[":0"])[0].another().unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn a_second_server_that_shares_its_port_is_still_refused() {
        let options = ListenOptions { reuse_port: true, ..ListenOptions::default() };
        let first = listen(&at(&[":0"]), &options).unwrap().remove(0);
        let error = listen(&at(&[&format!(":{}", first.address.port())]), &options).unwrap_err();
        assert_eq!(error.io_error().kind(), io::ErrorKind::AddrInUse);
    }
}
