//! Something of each of some keys, which are of one table, or of two.
//!
//! In:  tables, keys, and what there is of them. Out: the same, in order: by table, then by key.
//!
//! A key is looked up without making one: most transactions are of one table, and pay for no second.

use brickyard_types::TableId;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PerKey<V>(BTreeMap<TableId, BTreeMap<Vec<u8>, V>>);

/// Keys alone.
pub(crate) type Keys = PerKey<()>;

impl<V> Default for PerKey<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V> PerKey<V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Option<&V> {
        self.0.get(&table)?.get(key)
    }

    pub(crate) fn has(&self, table: TableId, key: &[u8]) -> bool {
        self.get(table, key).is_some()
    }

    /// What was there before.
    pub(crate) fn insert(&mut self, table: TableId, key: Vec<u8>, value: V) -> Option<V> {
        self.0.entry(table).or_default().insert(key, value)
    }

    /// What there is of a key; what `make` makes is, if there was nothing.
    pub(crate) fn or_insert(
        &mut self,
        table: TableId,
        key: &[u8],
        make: impl FnOnce() -> V,
    ) -> &mut V {
        let of_table = self.0.entry(table).or_default();
        of_table.entry(key.to_vec()).or_insert_with(make)
    }

    pub(crate) fn remove(&mut self, table: TableId, key: &[u8]) -> Option<V> {
        let of_table = self.0.get_mut(&table)?;
        assert!(!of_table.is_empty(), "{table} stands there without a key");
        let removed = of_table.remove(key);
        if of_table.is_empty() {
            self.0.remove(&table);
        }
        removed
    }

    pub(crate) fn retain(&mut self, mut stays: impl FnMut(TableId, &[u8]) -> bool) {
        self.0.retain(|table, of_table| {
            of_table.retain(|key, _| stays(*table, key));
            !of_table.is_empty()
        });
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (TableId, &[u8], &V)> {
        self.0.iter().flat_map(|(table, keys)| {
            let of_table = keys.iter();
            of_table.map(move |(key, value)| (*table, key.as_slice(), value))
        })
    }

    /// What there is of the keys of one table.
    pub(crate) fn of(&self, table: TableId) -> impl Iterator<Item = (&[u8], &V)> {
        let keys = self.0.get(&table).into_iter().flatten();
        keys.map(|(key, value)| (key.as_slice(), value))
    }

    /// The keys, each with its table.
    pub(crate) fn names(&self) -> impl Iterator<Item = (TableId, &[u8])> {
        self.iter().map(|(table, key, _)| (table, key))
    }

    /// Copies of them.
    pub(crate) fn to_names(&self) -> Vec<(TableId, Vec<u8>)> {
        let names = self.names();
        names.map(|(table, key)| (table, key.to_vec())).collect()
    }
}

impl Keys {
    pub(crate) fn note(&mut self, table: TableId, key: &[u8]) {
        self.0.entry(table).or_default().insert(key.to_vec(), ());
    }
}

#[cfg(test)]
#[path = "per_key_test.rs"]
mod per_key_test;
