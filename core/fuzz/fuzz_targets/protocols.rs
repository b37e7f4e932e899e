//! The example protocols with any bytes: how the bytes are cut must change nothing, and memory must not follow what a
//! peer announces.

#![no_main]

use std::sync::Arc;

use evserver_core::{Action, Buffers, Connection, Limits, Protocol, Time};
use evserver_examples::resp::{Resp, Store};
use evserver_examples::smtp_sink::{Sink, SmtpSink};
use libfuzzer_sys::fuzz_target;

/// More output than any input of a fuzzer's size can ask for.
const MOST_BYTES: usize = 64 << 20;

/// Everything that is said to `input` in pieces of `cut` bytes, with the end of the stream behind it.
fn talk<P: Protocol>(protocol: P, input: &[u8], cut: usize, leave: usize) -> Vec<u8> {
    let now = Time::from_ms(0);
    let mut connection: Connection<P, Box<Buffers>> = Connection::new(protocol, &Limits::new(), now);
    connection.lend(Box::default(), now);
    let (mut output, mut rest) = (Vec::new(), input);
    loop {
        assert!(output.len() < MOST_BYTES, "it does not stop talking");
        match connection.action() {
            Action::Send => {
                let bytes = connection.transmit();
                let n = bytes.len().min(leave);
                output.extend(&bytes[..n]);
                connection.transmitted(n, now);
            }
            Action::Receive if rest.is_empty() => connection.received_end(now),
            Action::Receive => {
                let space = connection.receive_space();
                let n = space.len().min(cut).min(rest.len());
                space[..n].copy_from_slice(&rest[..n]);
                rest = &rest[n..];
                connection.received(n, now);
            }
            Action::ShutdownWrite => connection.write_shut(now),
            Action::Close(_) => return output,
            other => panic!("{other:?}"),
        }
    }
}

fuzz_target!(|data: (bool, u16, u16, &[u8])| {
    let (mail, cut, leave, input) = data;
    let (cut, leave) = (usize::from(cut) + 1, usize::from(leave) + 1);
    let run = |cut, leave| {
        if mail {
            talk(SmtpSink::new(Arc::new(Sink::default())), input, cut, leave)
        } else {
            talk(Resp::new(Arc::new(Store::default())), input, cut, leave)
        }
    };
    assert_eq!(run(cut, leave), run(usize::MAX, usize::MAX));
});
