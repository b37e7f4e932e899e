//! The connections by their names.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evserver_core::Token;

use crate::entry::Entry;

/// Finds a connection by its token. No token is given out twice, so that of a connection that left finds nothing.
///
/// The lock is a leaf: nothing is locked or called while it is held.
pub struct Registry<P> {
    entries: Mutex<HashMap<Token, Arc<Entry<P>>>>,
    last: AtomicU64,
}

impl<P> Registry<P> {
    /// No connections.
    pub fn new() -> Self {
        Self { entries: Mutex::new(HashMap::new()), last: AtomicU64::new(0) }
    }

    /// A name for a new connection. The default token is nobody's.
    pub fn name(&self) -> Token {
        Token::from_bits(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Adds a connection under its name.
    pub fn insert(&self, entry: Arc<Entry<P>>) {
        self.entries().insert(entry.token, entry);
    }

    /// Takes a connection out.
    pub fn remove(&self, token: Token) {
        let entry = self.entries().remove(&token);
        // Outside the lock, since it may be the last that holds it.
        drop(entry);
    }

    /// The connection of this name.
    pub fn get(&self, token: Token) -> Option<Arc<Entry<P>>> {
        self.entries().get(&token).cloned()
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Entry<P>>> {
        self.entries().values().cloned().collect()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Token, Arc<Entry<P>>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evserver_core::Time;

    use crate::entry::tests::connected;

    #[test]
    fn each_is_found_by_a_name_of_its_own_until_it_leaves() {
        let registry = Registry::new();
        let names = [registry.name(), registry.name(), registry.name()];
        for name in names {
            assert_ne!(name, Token::default(), "that one is nobody's");
            assert!(registry.get(name).is_none());
            registry.insert(Arc::new(connected(name, Time::from_ms(0)).0));
        }
        assert_eq!(registry.all().len(), names.len());
        registry.remove(names[1]);
        let found = names.map(|name| registry.get(name).map(|entry| entry.token));
        assert_eq!(found, [Some(names[0]), None, Some(names[2])]);
    }
}
