//! Something of each of some keys, which are of one table, or of two.
//!
//! In:  tables, keys, and what there is of them. Out: the same, the keys of a table in order.
//!
//! Most transactions are of one table: for those this is a map, and no memory is taken for what there might be beside.

use brickyard_types::TableId;
use std::collections::BTreeMap;

/// Of a table.
type OfTable<V> = (TableId, BTreeMap<Vec<u8>, V>);

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PerKey<V>([Option<OfTable<V>>; 2]);

/// Keys alone.
pub(crate) type Keys = PerKey<()>;

impl<V> Default for PerKey<V> {
    fn default() -> Self {
        Self([None, None])
    }
}

impl<V> PerKey<V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn table(&self, table: TableId) -> Option<&BTreeMap<Vec<u8>, V>> {
        let mut tables = self.0.iter().flatten();
        tables.find(|it| it.0 == table).map(|(_, keys)| keys)
    }

    /// That of a table, which begins if there is none yet.
    fn table_mut(&mut self, table: TableId) -> &mut BTreeMap<Vec<u8>, V> {
        let [first, second] = &mut self.0;
        let is_it = |it: &Option<OfTable<V>>| it.as_ref().is_some_and(|it| it.0 == table);
        let place = match (is_it(first), is_it(second)) {
            (true, _) => first,
            (_, true) => second,
            _ if first.is_none() => first,
            _ => second,
        };
        let (there, keys) = place.get_or_insert_with(|| (table, BTreeMap::new()));
        assert_eq!(*there, table, "a third table");
        keys
    }

    pub(crate) fn get(&self, table: TableId, key: &[u8]) -> Option<&V> {
        self.table(table)?.get(key)
    }

    pub(crate) fn has(&self, table: TableId, key: &[u8]) -> bool {
        self.get(table, key).is_some()
    }

    /// What was there before.
    pub(crate) fn insert(&mut self, table: TableId, key: Vec<u8>, value: V) -> Option<V> {
        self.table_mut(table).insert(key, value)
    }

    /// What there is of a key; what `make` makes is, if there was nothing.
    pub(crate) fn or_insert(
        &mut self,
        table: TableId,
        key: &[u8],
        make: impl FnOnce() -> V,
    ) -> &mut V {
        let keys = self.table_mut(table);
        keys.entry(key.to_vec()).or_insert_with(make)
    }

    pub(crate) fn remove(&mut self, table: TableId, key: &[u8]) -> Option<V> {
        let mut tables = self.0.iter_mut().flatten();
        let (_, keys) = tables.find(|it| it.0 == table)?;
        let removed = keys.remove(key);
        self.forget_empty();
        removed
    }

    pub(crate) fn retain(&mut self, mut stays: impl FnMut(TableId, &[u8]) -> bool) {
        for (table, keys) in self.0.iter_mut().flatten() {
            keys.retain(|key, _| stays(*table, key));
        }
        self.forget_empty();
    }

    fn forget_empty(&mut self) {
        for place in &mut self.0 {
            place.take_if(|(_, keys)| keys.is_empty());
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (TableId, &[u8], &V)> {
        self.0.iter().flatten().flat_map(|(table, keys)| {
            let of_table = keys.iter();
            of_table.map(move |(key, value)| (*table, key.as_slice(), value))
        })
    }

    /// What there is of the keys of one table.
    pub(crate) fn of(&self, table: TableId) -> impl Iterator<Item = (&[u8], &V)> {
        let keys = self.table(table).into_iter().flatten();
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
        self.table_mut(table).insert(key.to_vec(), ());
    }
}

#[cfg(test)]
#[path = "per_key_test.rs"]
mod per_key_test;
