//! Conversations as bytes, in every way in which they could be cut.

use evserver_core::testing::{Conversation, Cuts, Way};
use evserver_core::{Buffers, CloseReason, Connection, Limits, Time};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::*;

/// A request as clients write it.
fn array(arguments: &[&[u8]]) -> Vec<u8> {
    let mut request = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        request.extend(bulk(argument));
    }
    request
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn fresh() -> Resp {
    Resp::new(Arc::default())
}

/// In every way, and a thousand at random.
#[track_caller]
fn check(input: &[u8], output: &[u8]) {
    if let Err(difference) = Conversation::new(input, output).random_cuts(1000).check(fresh) {
        panic!("{difference}\ninput {}", input.escape_ascii());
    }
}

#[test]
fn words_and_arrays_are_answered() {
    check(b"PING\r\nping\nECHO  hello \r\n\r\n\nQUIT\r\nPING\r\n", b"+PONG\r\n+PONG\r\n$5\r\nhello\r\n+OK\r\n");
    let requests = [
        array(&[b"PING"]),
        array(&[b"ping", b"x"]),
        array(&[b"SET", b"key", b"one"]),
        array(&[b"GET", b"key"]),
        array(&[b"get", b"no"]),
        array(&[b"INCR", b"n"]),
        array(&[b"INCR", b"n"]),
        array(&[b"INCR", b"key"]),
        array(&[b"DEL", b"key", b"n", b"no", b"key"]),
        array(&[b"SELECT", b"0"]),
        array(&[b"SELECT", b"1"]),
        b"*0\r\n".to_vec(),
        array(&[b"QUIT"]),
        array(&[b"PING"]),
    ];
    let answers = b"+PONG\r\n$1\r\nx\r\n+OK\r\n$3\r\none\r\n$-1\r\n:1\r\n:2\r\n\
        -ERR value is not an integer or out of range\r\n:2\r\n+OK\r\n-ERR DB index is out of range\r\n+OK\r\n";
    check(&requests.concat(), answers);
}

#[test]
fn what_clients_ask_first_is_answered_as_an_old_server_does() {
    let requests = [
        array(&[b"CONFIG", b"GET", b"save"]),
        array(&[b"COMMAND", b"DOCS"]),
        array(&[b"HELLO", b"3"]),
        array(&[b"CLIENT", b"SETINFO", b"LIB-NAME", b"some-client"]),
        array(&[b"CLIENT", b"LIST"]),
    ];
    let answers =
        b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n-ERR unknown command 'COMMAND'\r\n-ERR unknown command 'HELLO'\r\n\
        +OK\r\n-ERR unknown command 'CLIENT'\r\n";
    check(&requests.concat(), answers);
}

#[test]
fn wrong_requests_are_answered_and_the_next_one_is_understood() {
    let requests = [
        array(&[b"GET"]),
        array(&[b"SET", b"k"]),
        array(&[b"SET", b"k", b"v", b"EX", b"10"]),
        array(&[b"ECHO"]),
        array(&[b"no\r\n+OK", b"x"]),
        array(&[b""]),
        array(&[b"A-NAME-THAT-IS-LONGER-THAN-ANY-THAT-A-COMMAND-HAS", b"x"]),
        array(&[b"PING"]),
    ];
    let answers = b"-ERR wrong number of arguments for 'GET' command\r\n\
        -ERR wrong number of arguments for 'SET' command\r\n-ERR syntax error\r\n\
        -ERR wrong number of arguments for 'ECHO' command\r\n-ERR unknown command 'no'\r\n-ERR unknown command ''\r\n\
        -ERR unknown command 'A-NAME-THAT-IS-LONGER-THAN-ANY-THAT-A-CO'\r\n+PONG\r\n";
    check(&requests.concat(), answers);
}

/// Bytes that would be commands, ends of lines or ends of strings anywhere else.
fn nasty(bytes: usize) -> Vec<u8> {
    b"\r\nQUIT\r\n*1\r\n$4\r\nQUIT\r\n\0\n\r$1\r\n".iter().copied().cycle().take(bytes).collect()
}

/// Field lesson: whatever a body contains is not a command, and no length puts the stream out of step.
#[test]
fn no_length_of_a_value_puts_the_stream_out_of_step() {
    for bytes in [0, 1, 2, 3, 30, 1023, SHORT_BULK_BYTES, SHORT_BULK_BYTES + 1, 4093, 4094, 4095, 4096, 4097] {
        for value in [vec![b'x'; bytes], nasty(bytes), vec![b'\n'; bytes], vec![b'\r'; bytes]] {
            let input = [array(&[b"SET", b"k", &value]), array(&[b"GET", b"k"]), array(&[b"PING"])].concat();
            let output = [b"+OK\r\n", &bulk(&value)[..], b"+PONG\r\n"].concat();
            let talk = Conversation::new(&input, &output);
            let result = if bytes < 100 { talk.random_cuts(1000).check(fresh).map(drop) } else { some_ways(talk) };
            assert_eq!(result, Ok(()), "{bytes} bytes");
        }
    }
}

/// For what is too long for every way: the whole, byte by byte, writes of one byte, a hundred at random.
fn some_ways(talk: Conversation<'_>) -> Result<(), evserver_core::testing::Difference> {
    let cuts = [Cuts::Whole, Cuts::Every(1), Cuts::Every(4096), Cuts::Every(4095)].into_iter();
    for cuts in cuts.chain((0..100).map(Cuts::Random)) {
        talk.replay::<_, 4096>(Way { cuts, write: usize::MAX }, fresh(), |_| {})?;
    }
    talk.replay::<_, 4096>(Way { cuts: Cuts::Whole, write: 1 }, fresh(), |_| {}).map(drop)
}

#[test]
fn a_value_may_be_as_large_as_a_mebibyte_and_its_name_as_well() {
    let value = nasty(BULK_BYTES);
    let input = [array(&[b"SET", b"k", &value]), array(&[b"GET", b"k"]), array(&[b"ECHO", &value])].concat();
    let output = [b"+OK\r\n", &bulk(&value)[..], &bulk(&value)[..]].concat();
    let talk = Conversation::new(&input, &output);
    for cuts in [Cuts::Whole, Cuts::Every(1), Cuts::Random(0)] {
        let reason = talk.replay::<_, 4096>(Way { cuts, write: 1000 }, fresh(), |_| {});
        assert_eq!(reason, Ok(CloseReason::PeerEnd), "{cuts:?}");
    }
    check_refused(&array(&[b"GET", &vec![b'x'; BULK_BYTES], &[b'y'; 65_536]]), "too big request");
}

/// One error line, then the close; nothing behind it is looked at.
#[track_caller]
fn check_refused(request: &[u8], why: &str) {
    let input = [request, b"\r\n*1\r\n$4\r\nPING\r\nQUIT\r\n"].concat();
    let output = format!("-ERR Protocol error: {why}\r\n");
    let talk = Conversation::new(&input, output.as_bytes());
    let result = if input.len() < 500 { talk.random_cuts(1000).check(fresh).map(drop) } else { some_ways(talk) };
    assert_eq!(result, Ok(()), "{:?}", request.escape_ascii().to_string().get(..80));
    let reason = talk.replay::<_, 4096>(Way { cuts: Cuts::Whole, write: 100 }, fresh(), |_| {});
    assert_eq!(reason, Ok(CloseReason::Protocol));
}

/// Lengths that other servers have taken for others.
const ODD: [&str; 18] = [
    "-1",
    "+5",
    " 5",
    "5 ",
    "5x",
    "x",
    "",
    "-",
    "05",
    "0x5",
    "1e3",
    "2147483647",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1000000000000000000000000",
    "-9223372036854775808",
    "1048577",
];

#[test]
fn an_odd_length_is_refused() {
    for odd in ODD {
        check_refused(format!("*2\r\n$4\r\nECHO\r\n${odd}\r\nhello").as_bytes(), "invalid bulk length");
    }
    for odd in ODD {
        check_refused(format!("*{odd}\r\n$4\r\nPING").as_bytes(), "invalid multibulk length");
    }
    check_refused(b"*1025\r\n$4\r\nPING", "invalid multibulk length");
}

#[test]
fn a_missing_line_end_is_refused() {
    let why = "expected CR LF behind an argument";
    for wrong in
        [&b"hellox\r\n"[..], b"hell\r\n", b"hello\n\r", b"hello\n\n", b"hello\r\r\n", b"he\nlo\n\r\n", b"he\nloxx"]
    {
        check_refused(&[b"*2\r\n$4\r\nECHO\r\n$5\r\n", wrong].concat(), why);
    }
    // A long one comes as a body, and is looked at when it is whole.
    let long = [b"*2\r\n$4\r\nECHO\r\n$5000\r\n", &[b'x'; 5000][..], b"xx"].concat();
    check_refused(&long, why);
    // One that has no end at all fills the input.
    check_refused(&[b"*2\r\n$4\r\nECHO\r\n$5\r\n", &[b'x'; 5000][..]].concat(), why);
    check_refused(b"*1\n$4\r\nPING", "invalid multibulk length");
    check_refused(b"*1\r\n$4\nPING", "expected '$' and a length");
    check_refused(b"*1\r\n:4\r\nPING", "expected '$' and a length");
    check_refused(b"*1\r\n", "expected '$' and a length");
    check_refused(&[b'x'; 5000], "too big inline request");
}

/// Field lesson: memory was reserved for the announced size before a byte had arrived.
#[test]
fn memory_follows_what_has_arrived_and_not_what_was_announced() {
    let mut buffers = Buffers::<4096>::new();
    let now = Time::from_ms(0);
    let mut connection = Connection::new(fresh(), &Limits::new(), now);
    connection.lend(&mut buffers, now);
    let mut receive = |bytes: &[u8]| {
        connection.receive_space()[..bytes.len()].copy_from_slice(bytes);
        connection.received(bytes.len(), now);
        connection.protocol().map(|resp| resp.stored.capacity()).unwrap_or(0)
    };
    assert!(receive(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048576\r\n") < 100);
    assert!(receive(b"0123456789") < 100);
    let mut arrived = 30;
    while arrived < 100_000 {
        arrived += 1000;
        assert!(receive(&[b'x'; 1000]) <= 2 * arrived);
    }
}

#[test]
fn memory_of_a_large_request_is_not_kept() {
    let mut buffers = Buffers::<4096>::new();
    let now = Time::from_ms(0);
    let mut connection = Connection::new(fresh(), &Limits::new(), now);
    connection.lend(&mut buffers, now);
    let request = array(&[b"SET", b"k", &vec![b'x'; 100_000]]);
    for part in request.chunks(1000) {
        connection.receive_space()[..part.len()].copy_from_slice(part);
        connection.received(part.len(), now);
    }
    assert_eq!(connection.transmit(), b"+OK\r\n");
    assert_eq!(connection.protocol().unwrap().stored.capacity(), 0);
}

/// A value that is on its way out stays whole although its key is given another one.
#[test]
fn a_reply_in_pieces_is_of_one_value() {
    let store = Arc::new(Store::default());
    store.set(b"k", &[b'a'; 10_000]).unwrap();
    let input = [array(&[b"GET", b"k"]), array(&[b"GET", b"k"])].concat();
    let output = [bulk(&[b'a'; 10_000]), bulk(&[b'b'; 10_000])].concat();
    let mut buffers = Buffers::<4096>::new();
    let now = Time::from_ms(0);
    let mut connection = Connection::new(Resp::new(Arc::clone(&store)), &Limits::new(), now);
    connection.lend(&mut buffers, now);
    connection.receive_space()[..input.len()].copy_from_slice(&input);
    connection.received(input.len(), now);
    // The other value comes when the first piece is there, and the second request was not answered yet.
    store.set(b"k", &[b'b'; 10_000]).unwrap();
    let mut answered = Vec::new();
    while !connection.transmit().is_empty() {
        answered.extend_from_slice(connection.transmit());
        connection.transmitted(usize::MAX, now);
    }
    assert!(answered == output, "{} bytes", answered.len());
}

proptest! {
    #![proptest_config(ProptestConfig {
        // From this package's folder: at the root.
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("../../proptest-regressions/resp.txt"))),
        ..ProptestConfig::with_cases(100)
    })]

    /// Any arguments come back as they were, however they are cut.
    #[test]
    fn any_value_comes_back(
        key in proptest::collection::vec(any::<u8>(), 0..50),
        value in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), any::<u8>()], 0..1500),
        cut: u32,
    ) {
        let input = [array(&[b"SET", &key, &value]), array(&[b"GET", &key]), array(&[b"ECHO", &value])].concat();
        let output = [b"+OK\r\n", &bulk(&value)[..], &bulk(&value)[..]].concat();
        let way = Way { cuts: Cuts::Random(cut), write: usize::MAX };
        let reason = Conversation::new(&input, &output).replay::<_, 4096>(way, fresh(), |_| {});
        prop_assert_eq!(reason, Ok(CloseReason::PeerEnd));
    }

    /// Whatever comes is answered or refused, and the verdict does not depend on the cuts.
    #[test]
    fn garbage_is_refused_in_the_same_way_however_it_is_cut(
        input in proptest::collection::vec(
            prop_oneof![Just(b"*2\r\n".to_vec()), Just(b"$3\r\n".to_vec()), Just(b"\r\n".to_vec()), Just(b"GET".to_vec()),
                Just(b"1".to_vec()), Just(b"PING".to_vec()), proptest::collection::vec(any::<u8>(), 0..5)], 0..40),
        cut: u32,
    ) {
        let input = input.concat();
        let mut outputs = Vec::new();
        for piece in [input.len().max(1), 1, cut as usize % 7 + 1] {
            let mut buffers = Buffers::<4096>::new();
            let now = Time::from_ms(0);
            let mut connection = Connection::new(fresh(), &Limits::new(), now);
            connection.lend(&mut buffers, now);
            let mut output = Vec::new();
            for part in input.chunks(piece) {
                let space = connection.receive_space();
                if space.len() < part.len() {
                    break;
                }
                space[..part.len()].copy_from_slice(part);
                connection.received(part.len(), now);
                while !connection.transmit().is_empty() {
                    output.extend_from_slice(connection.transmit());
                    connection.transmitted(usize::MAX, now);
                }
            }
            outputs.push(output);
        }
        prop_assert_eq!(&outputs[0], &outputs[1]);
        prop_assert_eq!(&outputs[0], &outputs[2]);
    }
}
