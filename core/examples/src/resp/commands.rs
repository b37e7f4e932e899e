//! What each command answers.

use std::sync::Arc;

use evserver_core::{NoRoom, Reply};

use super::arguments::Arguments;
use super::sending::Sending;
use super::store::{Full, NotCounted, Store};

/// Room that every reply has; one that does not fit into this leaves through a [`Sending`].
pub const ROOM: usize = 160;

/// Bytes of a name that a client sent and that is repeated to it; more than any command or parameter has.
const NAME_BYTES: usize = 40;

/// What follows a command.
#[derive(Debug)]
pub enum Done {
    /// It was answered.
    Answered,
    /// Its answer leaves in pieces.
    Sending(Sending),
    /// It was answered, and the client wants to go.
    Quit,
}

/// Carries out one command, whose name is the first argument.
///
/// # Errors
/// Never, with [`ROOM`] bytes free.
#[inline]
pub fn execute(store: &Store, mut arguments: Arguments<'_>, reply: &mut Reply<'_>) -> Result<Done, NoRoom> {
    let name = arguments.next().unwrap_or(b"");
    let mut upper = [0; 8];
    if let Some(place) = upper.get_mut(..name.len()) {
        place.copy_from_slice(name);
        upper.make_ascii_uppercase();
    }
    // Longer than any name below: `upper` is still all zeros, which is none of them.
    match (&upper, arguments.next(), arguments.next(), arguments.next()) {
        (b"GET\0\0\0\0\0", Some(key), None, None) => return get(store, key, reply),
        (b"SET\0\0\0\0\0", Some(key), Some(value), None) => reply.put(match store.set(key, value) {
            Ok(()) => b"+OK\r\n",
            Err(Full) => FULL,
        })?,
        (b"SET\0\0\0\0\0", Some(_), Some(_), Some(_)) => reply.put(b"-ERR syntax error\r\n")?,
        (b"PING\0\0\0\0", None, None, None) => reply.put(b"+PONG\r\n")?,
        (b"PING\0\0\0\0" | b"ECHO\0\0\0\0", Some(text), None, None) => return bulk(text, reply),
        (b"INCR\0\0\0\0", Some(key), None, None) => count_up(store, key, reply)?,
        (b"DEL\0\0\0\0\0", Some(first), second, third) => {
            let keys = [Some(first), second, third].into_iter().flatten().chain(arguments);
            let deleted = keys.filter(|key| store.delete(key)).count();
            number(deleted as i64, reply)?;
        }
        (b"QUIT\0\0\0\0", ..) => {
            reply.put(b"+OK\r\n")?;
            return Ok(Done::Quit);
        }
        (b"SELECT\0\0", Some(b"0"), None, None) => reply.put(b"+OK\r\n")?,
        (b"SELECT\0\0", Some(_), None, None) => reply.put(b"-ERR DB index is out of range\r\n")?,
        (b"CONFIG\0\0", Some(action), Some(parameter), None) if action.eq_ignore_ascii_case(b"GET") => {
            config_get(parameter, reply)?;
        }
        // Names of clients and their libraries: taken note of by others.
        (b"CLIENT\0\0", Some(action), ..)
            if action.eq_ignore_ascii_case(b"SETINFO") || action.eq_ignore_ascii_case(b"SETNAME") =>
        {
            reply.put(b"+OK\r\n")?;
        }
        (
            b"GET\0\0\0\0\0" | b"SET\0\0\0\0\0" | b"PING\0\0\0\0" | b"ECHO\0\0\0\0" | b"INCR\0\0\0\0"
            | b"DEL\0\0\0\0\0" | b"SELECT\0\0",
            ..,
        ) => put_all(&[b"-ERR wrong number of arguments for '", printable(name), b"' command\r\n"], reply)?,
        // COMMAND and HELLO among them: a client that meets an old server goes on without.
        _ => put_all(&[b"-ERR unknown command '", printable(name), b"'\r\n"], reply)?,
    }
    Ok(Done::Answered)
}

const FULL: &[u8] = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n";

#[inline]
fn get(store: &Store, key: &[u8], reply: &mut Reply<'_>) -> Result<Done, NoRoom> {
    let large = store.get(key, |value| match value {
        None => reply.put(b"$-1\r\n").map(|()| None),
        Some(value) if fits(value.len(), reply) => put_bulk(value, reply).map(|()| None),
        Some(value) => Ok(Some(Arc::clone(value))),
    })?;
    Ok(large.map_or(Done::Answered, |value| Done::Sending(Sending::new(value))))
}

/// Answers with these bytes.
fn bulk(bytes: &[u8], reply: &mut Reply<'_>) -> Result<Done, NoRoom> {
    if fits(bytes.len(), reply) {
        put_bulk(bytes, reply)?;
        return Ok(Done::Answered);
    }
    Ok(Done::Sending(Sending::new(bytes.into())))
}

/// Bytes around the bytes of a bulk: the dollar sign, a length of seven digits at most, two line ends.
const AROUND_BULK: usize = 12;

#[inline]
fn fits(bytes: usize, reply: &Reply<'_>) -> bool {
    bytes + AROUND_BULK <= reply.room()
}

#[inline]
fn put_bulk(bytes: &[u8], reply: &mut Reply<'_>) -> Result<(), NoRoom> {
    let mut digits = itoa::Buffer::new();
    reply.put(b"$")?;
    reply.put(digits.format(bytes.len()).as_bytes())?;
    reply.put(b"\r\n")?;
    reply.put(bytes)?;
    reply.put(b"\r\n")
}

fn number(number: i64, reply: &mut Reply<'_>) -> Result<(), NoRoom> {
    put_all(&[b":", itoa::Buffer::new().format(number).as_bytes(), b"\r\n"], reply)
}

fn count_up(store: &Store, key: &[u8], reply: &mut Reply<'_>) -> Result<(), NoRoom> {
    match store.count_up(key) {
        Ok(next) => number(next, reply),
        Err(NotCounted::NotANumber) => reply.put(b"-ERR value is not an integer or out of range\r\n"),
        Err(NotCounted::Overflow) => reply.put(b"-ERR increment or decrement would overflow\r\n"),
        Err(NotCounted::Full) => reply.put(FULL),
    }
}

/// Every parameter is there and empty: who asks wants to print it.
fn config_get(parameter: &[u8], reply: &mut Reply<'_>) -> Result<(), NoRoom> {
    reply.put(b"*2\r\n")?;
    put_bulk(printable(parameter), reply)?;
    reply.put(b"$0\r\n\r\n")
}

/// The beginning of a name, as far as it can stand in a line.
fn printable(name: &[u8]) -> &[u8] {
    let name = name.get(..NAME_BYTES).unwrap_or(name);
    let end = name.iter().position(|byte| !byte.is_ascii_graphic()).unwrap_or(name.len());
    name.get(..end).unwrap_or(name)
}

fn put_all(parts: &[&[u8]], reply: &mut Reply<'_>) -> Result<(), NoRoom> {
    parts.iter().try_for_each(|part| reply.put(part))
}
