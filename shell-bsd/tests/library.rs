//! The server as a library: a thread of somebody's own, stopped by a handle.
#![cfg(kqueue)]

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use evserver_bsd::{ListenOptions, NumberedEcho, Options, Settings, StopHandle, listen, serve};

const LINE_BYTES: usize = 1000;

/// In all more than the kernel's buffers hold on the way there and back.
const LINES: usize = 40_000;

/// Sends the lines and the end of the stream; tells `held` when nothing is taken for a while.
fn send_lines(mut socket: TcpStream, held: &mpsc::Sender<()>) {
    let bytes = [&[b'x'; LINE_BYTES - 1][..], b"\n"].concat().repeat(LINES);
    socket.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut sent = 0;
    while sent < bytes.len() {
        match socket.write(&bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                // Nobody listens any more after the first time.
                let _ = held.send(());
            }
            Err(error) => panic!("after {sent} bytes: {error}"),
        }
    }
    socket.shutdown(Shutdown::Write).unwrap();
}

#[test]
fn a_server_on_a_thread_serves_and_stops_whatever_the_mode() {
    for (edge_triggered, loops) in [(false, 1), (true, 1), (false, 2)] {
        let what = format!("edge-triggered {edge_triggered}, loops {loops}");
        let options = ListenOptions { reuse_port: true, ..ListenOptions::default() };
        let listeners = listen(&["127.0.0.1:0".parse().unwrap()], &options).unwrap();
        let address = listeners[0].address;
        let stop = StopHandle::new().unwrap();
        let settings = Settings { drain_ms: 5_000, edge_triggered, ..Settings::default() };
        let options = Options { settings, loops, stop: Some(stop.clone()), ..Options::default() };
        let server = thread::spawn(move || serve(listeners, options, |_| NumberedEcho::new()).unwrap());

        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (held, is_held) = mpsc::channel();
        let sending = client.try_clone().unwrap();
        let sender = thread::spawn(move || send_lines(sending, &held));
        // Only then the server has had to wait for room, too.
        is_held.recv().expect("a client that does not read is held back");
        let mut replies = String::new();
        client.read_to_string(&mut replies).expect(&what);
        sender.join().unwrap();
        let line = "x".repeat(LINE_BYTES - 1);
        let expected: String = (1..=LINES).map(|number| format!("{number}: {line}\n")).collect();
        assert!(replies == format!("ready\n{expected}"), "{what}: {} bytes came", replies.len());

        stop.drain();
        let report = server.join().unwrap();
        assert_eq!((report.counts.served, report.counts.peak, report.at_once), (1, 1, false), "{what}");
        assert!(TcpStream::connect(address).is_err(), "{what}: nobody listens any more");
    }
}
