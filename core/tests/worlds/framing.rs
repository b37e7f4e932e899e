//! Any bytes, any cuts, any order of draining, any buffers: the same output.

use evserver_core::{Action, Buffers, CloseReason, Connection, Interest, Limits, NumberedEcho, Protocol, Time};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::model::{NUMBERED, Said, model};

/// Seeds that found something are kept at the root of the repository, for whoever tests next.
pub fn config(cases: u32, seeds: &'static str) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        ..ProptestConfig::default()
    }
}

/// Bytes among which lines, their ends and the word that closes are frequent.
pub fn input(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        2 => Just(b"\r".to_vec()),
        1 => Just(b"quit\n".to_vec()),
        1 => Just(b"quit\r\n".to_vec()),
        4 => prop::collection::vec(any::<u8>(), 1..12),
        4 => prop::collection::vec(prop::sample::select(b"aqu \0\xff".to_vec()), 1..40),
    ];
    prop::collection::vec(piece, 0..most).prop_map(|pieces| pieces.concat())
}

/// Runs a conversation with the given sizes of receives and sends, each list gone round as often as needed.
pub fn converse<P: Protocol, const N: usize>(
    protocol: P,
    input: &[u8],
    ended: bool,
    receives: &[usize],
    sends: &[usize],
) -> Said {
    let now = Time::from_ms(0);
    let mut connection: Connection<P, Box<Buffers<N>>, N> = Connection::new(protocol, &Limits::new(), now);
    let (mut receives, mut sends) = (receives.iter().cycle(), sends.iter().cycle());
    let (mut output, mut rest) = (Vec::new(), input);
    loop {
        let wants = connection.wants();
        match wants.action {
            Action::Lend => connection.lend(Box::default(), now),
            Action::Send => {
                assert_eq!(wants.interest, Interest::Write);
                let bytes = connection.transmit();
                let n = bytes.len().min(*sends.next().unwrap());
                output.extend(&bytes[..n]);
                connection.transmitted(n, now);
            }
            Action::Receive => {
                assert_eq!(wants.interest, Interest::Read);
                assert!(connection.transmit().is_empty(), "input is taken while output is pending");
                if rest.is_empty() {
                    if !ended || matches!(connection.wants().waiting, evserver_core::Waiting::ForPeerEnd) {
                        return Said { output, closed: lingering(&mut connection, now) };
                    }
                    connection.received_end(now);
                } else {
                    let space = connection.receive_space();
                    assert!(!space.is_empty(), "input is wanted and there is no room for it");
                    let n = space.len().min(*receives.next().unwrap()).min(rest.len());
                    space[..n].copy_from_slice(&rest[..n]);
                    rest = &rest[n..];
                    connection.received(n, now);
                }
            }
            Action::ShutdownWrite => connection.write_shut(now),
            Action::Close(reason) => {
                assert!(connection.reclaim().is_some_and(|buffers| buffers.is_empty()));
                return Said { output, closed: Some(reason) };
            }
            Action::Wait => panic!("nobody waits for an answer here"),
        }
    }
}

/// The reason of a connection whose side is shut already; an open one has none.
fn lingering<P: Protocol, const N: usize>(
    connection: &mut Connection<P, Box<Buffers<N>>, N>,
    now: Time,
) -> Option<CloseReason> {
    if connection.wants().waiting != evserver_core::Waiting::ForPeerEnd {
        return None;
    }
    connection.received_end(now);
    match connection.action() {
        Action::Close(reason) => Some(reason),
        other => panic!("after both ends: {other:?}"),
    }
}

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../proptest-regressions/framing.txt");

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        Just(vec![usize::MAX]),
        prop::collection::vec(1usize..9, 1..6),
        prop::collection::vec(1usize..5000, 1..6)
    ]
}

macro_rules! same_for {
    ($($n:literal)*) => {
        proptest! {
            #![proptest_config(config(600, SEEDS))]

            #[test]
            fn the_output_is_the_models(
                input in input(60), ended in any::<bool>(), receives in sizes(), sends in sizes(),
            ) {
                $(
                    let said = converse::<_, $n>(NumberedEcho::new(), &input, ended, &receives, &sends);
                    prop_assert_eq!(said, model(&NUMBERED, $n, &input, ended), "buffers of {} bytes", $n);
                )*
            }
        }
    };
}

same_for!(4 5 6 7 8 16 33 64 4096);

proptest! {
    #![proptest_config(config(100, SEEDS))]

    /// Around the longest line, where the reply is larger than the buffer.
    #[test]
    fn long_lines_at_any_number(
        lines in prop::collection::vec((4085usize..4100, any::<u8>()), 1..4),
        number in prop_oneof![0u64..20, 9_990..10_010u64, Just(u64::MAX - 1)],
        receives in sizes(), sends in sizes(),
    ) {
        let mut input = Vec::new();
        for (length, byte) in lines {
            input.extend(std::iter::repeat_n(if byte == b'\n' { b'n' } else { byte }, length));
            input.push(b'\n');
        }
        let said = converse::<_, 4096>(NumberedEcho::counting_from(number), &input, true, &receives, &sends);
        let plain = model(&NUMBERED, 4096, &input, true);
        // The model counts from 1; the numbers are put in here.
        let mut expected = Vec::new();
        for line in plain.output.split_inclusive(|&byte| byte == b'\n') {
            match line.iter().position(|&byte| byte == b':').map(|at| line.split_at(at)) {
                Some((digits, rest)) if digits.iter().all(u8::is_ascii_digit) && !digits.is_empty() => {
                    let n: u128 = std::str::from_utf8(digits).unwrap().parse().unwrap();
                    expected.extend((n + u128::from(number)).to_string().into_bytes());
                    expected.extend(rest);
                }
                _ => expected.extend(line),
            }
        }
        prop_assert_eq!(said, Said { output: expected, ..plain });
    }
}
