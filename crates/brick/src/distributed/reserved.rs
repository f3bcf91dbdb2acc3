//! Keys that a transaction has reserved for its next attempt, since others were first too often.
//!
//! In:  keys that an attempt reads. Out: whether somebody else may write them now.
//!
//! A reservation decides nothing: a transaction commits by the versions that it has read. It only makes others wait, so that the oldest
//! transaction comes to its end.
//!
//! Invariants:
//! - A transaction waits only for what an older one has reserved: no two wait for each other.
//! - A reservation ends by itself.

use brickyard_types::{Instant, TableId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a key stays reserved if nothing more is heard of the transaction.
const KEPT: Duration = Duration::from_millis(100);

/// Keys at a time.
const KEYS_MAX: usize = 64 << 10;

/// Since when there is a transaction, whatever attempts it has made: the lowest is the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Age {
    /// Milliseconds of the coordinator's clock.
    pub(crate) since: u64,
    /// What its coordinator and its first attempt are called.
    pub(crate) coordinator: u64,
    pub(crate) number: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Reserved(BTreeMap<(TableId, Vec<u8>), (Age, Instant)>);

impl Reserved {
    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reserves a key; false: an older transaction has it.
    pub(crate) fn reserve(&mut self, table: TableId, key: &[u8], age: Age, now: Instant) -> bool {
        if self.is_kept_from(table, key, age, now) {
            return false;
        }
        if self.0.len() < KEYS_MAX {
            self.0.insert((table, key.to_vec()), (age, now + KEPT));
        }
        assert!(self.0.len() <= KEYS_MAX, "{} are reserved", self.0.len());
        true
    }

    /// Whether an older transaction has reserved the key.
    pub(crate) fn is_kept_from(&self, table: TableId, key: &[u8], age: Age, now: Instant) -> bool {
        let held = self.0.get(&(table, key.to_vec()));
        held.is_some_and(|(holder, until)| *until > now && *holder < age)
    }

    /// Whether any transaction has.
    pub(crate) fn has(&self, table: TableId, key: &[u8], now: Instant) -> bool {
        let held = self.0.get(&(table, key.to_vec()));
        held.is_some_and(|(_, until)| *until > now)
    }

    /// A transaction needs its reservation of the key no more; whether it had one.
    pub(crate) fn release(&mut self, table: TableId, key: &[u8], age: Age) -> bool {
        let place = (table, key.to_vec());
        let is_its = self.0.get(&place).is_some_and(|(holder, _)| *holder == age);
        if is_its {
            self.0.remove(&place);
        }
        is_its
    }

    /// A transaction of that age writes the key now, whatever younger ones have reserved; false: an older one has it.
    pub(crate) fn take(&mut self, table: TableId, key: &[u8], age: Age, now: Instant) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let is_free = !self.is_kept_from(table, key, age, now);
        if is_free {
            self.0.remove(&(table, key.to_vec()));
        }
        is_free
    }

    /// Ends those whose time is over.
    pub(crate) fn end_old(&mut self, now: Instant) {
        self.0.retain(|_, (_, until)| *until > now);
    }
}

#[cfg(test)]
mod reserved_test {
    use super::*;

    const TABLE: TableId = TableId(1);
    const NOW: Instant = Instant(1_000);

    fn age(since: u64) -> Age {
        Age {
            since,
            coordinator: 1,
            number: 1,
        }
    }

    #[test]
    fn older_transaction_takes_a_key_from_a_younger_one_and_never_the_other_way() {
        let mut reserved = Reserved::default();
        assert!(reserved.reserve(TABLE, b"k", age(2), NOW));
        assert!(!reserved.reserve(TABLE, b"k", age(3), NOW));
        assert!(!reserved.take(TABLE, b"k", age(3), NOW));
        assert!(reserved.reserve(TABLE, b"k", age(1), NOW));
        assert!(reserved.is_kept_from(TABLE, b"k", age(2), NOW));
        assert!(!reserved.release(TABLE, b"k", age(2)), "it lost it");
        assert!(reserved.take(TABLE, b"k", age(1), NOW));
        assert!(!reserved.has(TABLE, b"k", NOW));
    }

    #[test]
    fn reservation_ends_by_itself() {
        let mut reserved = Reserved::default();
        assert!(reserved.reserve(TABLE, b"k", age(1), NOW));
        assert!(reserved.has(TABLE, b"k", NOW));
        let later = NOW + KEPT;
        assert!(!reserved.has(TABLE, b"k", later));
        assert!(reserved.reserve(TABLE, b"k", age(2), later));
        reserved.end_old(later + KEPT);
        assert!(reserved.is_empty());
    }
}
