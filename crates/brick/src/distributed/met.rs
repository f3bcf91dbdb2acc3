//! Keys with intents that somebody has met, until they are looked into.
//!
//! In:  keys, as they are met. Out: those that were met some time ago.
//!
//! Invariant: it is bounded; what does not fit is met again.

use brickyard_types::{Instant, TableId};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long an intent is left to its coordinator: a transaction takes two rounds of replication, and much longer only if
/// something is wrong.
const PATIENCE: Duration = Duration::from_millis(150);

/// Keys at a time.
const KEYS_MAX: usize = 1024;

/// Keys that are looked into with one tick.
const PER_TICK: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Met(BTreeMap<(TableId, Vec<u8>), Instant>);

impl Met {
    /// A key has an intent now.
    pub(crate) fn note(&mut self, table: TableId, key: &[u8], now: Instant) {
        if self.0.len() < KEYS_MAX {
            self.0.entry((table, key.to_vec())).or_insert(now);
        }
    }

    /// Those that have had their time.
    pub(crate) fn take_old(&mut self, now: Instant) -> Vec<(TableId, Vec<u8>)> {
        let old = self.0.iter().filter(|(_, since)| now - **since > PATIENCE);
        let old: Vec<_> = old.take(PER_TICK).map(|(key, _)| key.clone()).collect();
        old.iter().for_each(|key| {
            self.0.remove(key);
        });
        assert!(
            self.0.len() <= KEYS_MAX && old.len() <= PER_TICK,
            "{} keys and {} more were met",
            self.0.len(),
            old.len()
        );
        old
    }
}
