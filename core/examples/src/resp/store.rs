//! The keys and values that all connections share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of keys and values, with what the table costs, that a store takes.
const STORE_BYTES: usize = 256 * 1024 * 1024;

/// What an entry costs beside its key and its value: two allocations, their pointers and lengths, the count of shares,
/// a place in the table.
const ENTRY_BYTES: usize = 96;

/// Keys and values in memory, for any number of loops and threads.
#[derive(Debug)]
pub struct Store {
    entries: Mutex<Entries>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Entries {
    values: HashMap<Box<[u8]>, Arc<[u8]>>,
    bytes: usize,
}

/// The store is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why a value was not counted up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCounted {
    /// It is no number.
    NotANumber,
    /// There is no larger one.
    Overflow,
    /// The store is full.
    Full,
}

impl Default for Store {
    fn default() -> Self {
        Self::with_most_bytes(STORE_BYTES)
    }
}

impl Store {
    /// A store of at most so many bytes.
    pub fn with_most_bytes(most_bytes: usize) -> Self {
        Self { entries: Mutex::default(), most_bytes }
    }

    /// Shows the value of a key to `look`, under the lock: it copies a little, or keeps a share.
    #[inline]
    pub fn get<R>(&self, key: &[u8], look: impl FnOnce(Option<&Arc<[u8]>>) -> R) -> R {
        look(self.entries().values.get(key))
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// When the store is full; then the old value stays.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Full> {
        self.entries().set(key, value, self.most_bytes)
    }

    /// Forgets a key. Says whether there was one.
    pub fn delete(&self, key: &[u8]) -> bool {
        let mut entries = self.entries();
        let deleted = entries.values.remove(key);
        if let Some(value) = &deleted {
            entries.bytes -= cost(key, value);
        }
        // What is dropped last may be a large value.
        drop(entries);
        deleted.is_some()
    }

    /// Adds one to a value that is a number; a key that is missing counts as 0.
    ///
    /// # Errors
    /// When it is no number, or there is no larger one, or the store is full; the value stays.
    pub fn count_up(&self, key: &[u8]) -> Result<i64, NotCounted> {
        let mut entries = self.entries();
        let number = match entries.values.get(key) {
            Some(value) => parse_integer(value).ok_or(NotCounted::NotANumber)?,
            None => 0,
        };
        let next = number.checked_add(1).ok_or(NotCounted::Overflow)?;
        let mut digits = itoa::Buffer::new();
        let written = digits.format(next).as_bytes();
        entries.set(key, written, self.most_bytes).map_err(|Full| NotCounted::Full)?;
        Ok(next)
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries().values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A thread that panicked with the lock held left whole entries all the same.
    #[inline]
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn set(&mut self, key: &[u8], value: &[u8], most_bytes: usize) -> Result<(), Full> {
        match self.values.get_mut(key) {
            Some(old) => {
                // The same length and nobody is reading it: no allocation.
                if let Some(place) = Arc::get_mut(old)
                    && place.len() == value.len()
                {
                    place.copy_from_slice(value);
                    return Ok(());
                }
                let bytes = self.bytes - old.len() + value.len();
                if bytes > most_bytes {
                    return Err(Full);
                }
                self.bytes = bytes;
                *old = value.into();
            }
            None => {
                let bytes = self.bytes + cost(key, value);
                if bytes > most_bytes {
                    return Err(Full);
                }
                self.bytes = bytes;
                self.values.insert(key.into(), value.into());
            }
        }
        Ok(())
    }
}

fn cost(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + ENTRY_BYTES
}

/// A 64-bit integer as it is written, and no other spelling of it.
fn parse_integer(bytes: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    (itoa::Buffer::new().format(number).as_bytes() == bytes).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(store: &Store, key: &[u8]) -> Option<Vec<u8>> {
        store.get(key, |value| value.map(|value| value.to_vec()))
    }

    #[test]
    fn a_value_is_replaced_also_while_somebody_reads_it() {
        let store = Store::default();
        assert_eq!(value(&store, b"k"), None);
        store.set(b"k", b"one").unwrap();
        let reading = store.get(b"k", |value| value.cloned()).unwrap();
        store.set(b"k", b"two").unwrap();
        assert_eq!((&reading[..], value(&store, b"k").unwrap()), (&b"one"[..], b"two".to_vec()));
        store.set(b"k", b"three").unwrap();
        assert_eq!(value(&store, b"k").unwrap(), b"three");
        assert!(store.delete(b"k") && !store.delete(b"k") && store.is_empty());
    }

    #[test]
    fn it_takes_no_more_than_it_may_and_gets_room_back() {
        let store = Store::with_most_bytes(2 * ENTRY_BYTES + 22);
        store.set(b"a", &[0; 10]).unwrap();
        store.set(b"b", &[0; 10]).unwrap();
        assert_eq!(store.set(b"c", b""), Err(Full));
        assert_eq!(store.set(b"a", &[0; 11]), Err(Full));
        assert_eq!(value(&store, b"a").unwrap().len(), 10);
        store.set(b"b", &[0; 9]).unwrap();
        store.set(b"a", &[0; 11]).unwrap();
        assert!(store.delete(b"b"));
        store.set(b"c", &[0; 9]).unwrap();
        assert_eq!(store.count_up(b"n"), Err(NotCounted::Full));
        assert_eq!(store.len(), 2);
    }

    #[test]
    fn numbers_are_counted_up_and_nothing_else_is() {
        let store = Store::default();
        assert_eq!((store.count_up(b"n"), store.count_up(b"n")), (Ok(1), Ok(2)));
        for (text, result) in [
            (&b"-1"[..], Ok(0)),
            (b"9223372036854775806", Ok(i64::MAX)),
            (b"9223372036854775807", Err(NotCounted::Overflow)),
            (b"9223372036854775808", Err(NotCounted::NotANumber)),
            (b"", Err(NotCounted::NotANumber)),
            (b"+1", Err(NotCounted::NotANumber)),
            (b"01", Err(NotCounted::NotANumber)),
            (b"-0", Err(NotCounted::NotANumber)),
            (b" 1", Err(NotCounted::NotANumber)),
            (b"1\n", Err(NotCounted::NotANumber)),
        ] {
            store.set(b"n", text).unwrap();
            assert_eq!(store.count_up(b"n"), result, "{}", text.escape_ascii());
        }
    }
}
