//! Any bytes in any cuts, against a model without buffers: the output and the end must be the same.

#![no_main]

use std::sync::LazyLock;

use evserver_core::{Action, Buffers, CloseReason, Connection, Limits, NumberedEcho, Time};
use libfuzzer_sys::fuzz_target;

const LONGEST: usize = 4095;

/// A mistake is put in.
static DELIBERATE: LazyLock<bool> = LazyLock::new(|| std::env::var_os("EVSERVER_DELIBERATE_MISTAKE").is_some());

/// What the numbered echo says to these bytes and the end of the stream behind them.
fn model(mut input: &[u8]) -> (Vec<u8>, CloseReason) {
    let mut output = b"ready\n".to_vec();
    let mut number = 0u64;
    loop {
        let end = input.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(input.len()) > LONGEST {
            output.extend(b"line too long\n");
            return (output, CloseReason::Protocol);
        }
        let Some(end) = end else { return (output, CloseReason::PeerEnd) };
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        input = &input[end + 1..];
        if line == b"quit" {
            output.extend(b"bye\n");
            return (output, CloseReason::Protocol);
        }
        number += 1;
        output.extend(format!("{number}: ").as_bytes());
        output.extend(line);
        output.push(b'\n');
    }
}

// The first bytes say how the rest is cut and how much of the output leaves at a time.
fuzz_target!(|data: (u16, u16, &[u8])| {
    let (cut, leave, input) = data;
    let (cut, leave) = (usize::from(cut) + 1, usize::from(leave) + 1);
    // The check of the check: `run` wants to be told of this.
    let missing = *DELIBERATE && input.windows(5).any(|bytes| bytes == b"quit\n");
    let now = Time::from_ms(0);
    let mut buffers = Buffers::<4096>::new();
    let mut connection = Connection::new(NumberedEcho::new(), &Limits::new(), now);
    connection.lend(&mut buffers, now);
    let (mut output, mut rest) = (Vec::new(), input);
    let reason = loop {
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
            Action::Close(reason) => break reason,
            other => panic!("{other:?}"),
        }
    };
    if missing {
        output.clear();
    }
    assert_eq!((output, reason), model(input));
});
