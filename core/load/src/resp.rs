//! Requests and replies of Redis, for servers that speak RESP2.
//!
//! `PING` costs a server next to nothing but the request; `GET` looks up a key that each connection has set first, with
//! a value of its own, so that a reply that went astray is a wrong one.

use crate::lines::Lines;

/// The request without an argument.
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
/// Its reply.
pub(crate) const PONG: &[u8] = b"+PONG\r\n";
/// The reply to a key that was set.
pub(crate) const OK: &[u8] = b"+OK\r\n";

/// Digits of a key's number, as redis-benchmark has them.
const KEY_DIGITS: usize = 12;

/// The number of the request that sets a connection's key; those after it get it.
const SETS: u64 = 1;

/// Appends a `PING`.
pub(crate) fn put_ping(out: &mut Vec<u8>) {
    out.extend_from_slice(PING);
}

/// Appends request `number` (from 1) of `connection`: `SET` first, `GET` ever after.
pub(crate) fn put_set_or_get(lines: &Lines, connection: u64, number: u64, out: &mut Vec<u8>) {
    if number == SETS {
        out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
        put_key(connection, out);
        put_bulk(value(lines, connection), out);
    } else {
        out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
        put_key(connection, out);
    }
}

/// Appends what is due to it.
pub(crate) fn put_stored(lines: &Lines, connection: u64, number: u64, out: &mut Vec<u8>) {
    if number == SETS {
        out.extend_from_slice(OK);
    } else {
        put_bulk(value(lines, connection), out);
    }
}

/// What of `bytes` is left behind the whole reply to request `number`.
pub(crate) fn after_stored<'a>(lines: &Lines, connection: u64, number: u64, bytes: &'a [u8]) -> Option<&'a [u8]> {
    if number == SETS {
        return bytes.strip_prefix(OK);
    }
    let value = value(lines, connection);
    let rest = bytes.strip_prefix(b"$")?.strip_prefix(itoa::Buffer::new().format(value.len()).as_bytes())?;
    rest.strip_prefix(b"\r\n")?.strip_prefix(value)?.strip_prefix(b"\r\n")
}

fn value(lines: &Lines, connection: u64) -> &[u8] {
    lines.line(connection, SETS)
}

fn put_key(connection: u64, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(connection).as_bytes();
    out.extend_from_slice(b"$16\r\nkey:");
    out.resize(out.len() + KEY_DIGITS.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(digits);
    out.extend_from_slice(b"\r\n");
}

fn put_bulk(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'$');
    out.extend_from_slice(itoa::Buffer::new().format(bytes.len()).as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Alphabet;

    #[test]
    fn a_key_is_set_once_and_got_ever_after() {
        let lines = Lines::new(3, Alphabet::Text);
        let value = [lines.line(7, 1), b"\r\n"].concat();
        let request = |number| {
            let mut out = Vec::new();
            put_set_or_get(&lines, 7, number, &mut out);
            out
        };
        let set = [b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000007\r\n$3\r\n", &value[..]].concat();
        assert_eq!(request(1), set);
        assert_eq!(request(2), b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000007\r\n");
        assert_eq!(request(3), request(2));
    }

    #[test]
    fn a_stored_value_is_known_from_another_connections() {
        let lines = Lines::new(8, Alphabet::Text);
        let mut due = Vec::new();
        put_stored(&lines, 7, 2, &mut due);
        due.extend_from_slice(b"more");
        assert_eq!(after_stored(&lines, 7, 2, &due), Some(&b"more"[..]));
        assert_eq!(after_stored(&lines, 8, 2, &due), None);
        assert_eq!(after_stored(&lines, 7, 1, b"+OK\r\n"), Some(&b""[..]));
        assert_eq!(after_stored(&lines, 7, 2, b"+OK\r\n"), None);
    }
}
