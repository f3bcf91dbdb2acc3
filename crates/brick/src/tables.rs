//! The tables of this brick, and where each partition is.
//!
//! In:  catalogs; tables made and dropped; partitions gained, moved and lost. Out: a table by its place, name or id; a
//!      partition by its id; whose the records are of one that was split or merged (`tables/children`).
//!
//! Invariants:
//! - A table's place is never used again: a connection's table index stays good after a drop.
//! - Each table that is here has one name and one id, and both lead to its place.
//! - A place of a partition names a leaf of a table that is here.
//!
//! Not here: what a catalog changes (`membership`), taking partitions apart and putting them together (`pending_split`,
//! `pending_merge`).

mod children;
mod gaps;
mod orphans;
mod partition;
mod removed;
mod room;
mod state;
mod windows;

pub(crate) use children::{halves_of, is_split_from};
pub(crate) use gaps::{Gaps, Suspicion};
pub(crate) use orphans::{Orphaned, is_orphan};
pub(crate) use partition::{Partition, PendingClear};
pub(crate) use room::{Room, evicts, memory_max};
pub(crate) use state::{Availability, Drawn, TableState, Unloaded, storage};

use crate::append::BatchId;
use crate::changes::Followed;
use crate::log::{Committed, KeyRef, Log, Prepared};
use crate::output::Lost;
use brickyard_metadata::Catalog;
use brickyard_routing::Location;
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionHasher, PartitionId, Position, TableId};
use hashbrown::HashMap;
use removed::Removed;
use std::collections::BTreeMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// Operations whose memory is asked for before the first of them is applied.
pub(crate) const AHEAD: usize = 32;

/// See the module.
#[derive(Debug)]
pub(crate) struct Tables {
    catalog: Arc<Catalog>,
    /// Adopted when every record that was prepared under the one before is in the log.
    waiting: Option<Arc<Catalog>>,
    slots: Vec<Option<TableState>>,
    by_name: BTreeMap<String, usize>,
    by_id: BTreeMap<TableId, usize>,
    places: HashMap<PartitionId, (u32, u32), BuildHasherDefault<PartitionHasher>>,
    /// Up to which op partitions that were merged had been cleared: a clear in the log above that was cut.
    parent_clears: BTreeMap<PartitionId, Op>,
    removed: Removed,
    /// Ids of requests that all partitions together remember.
    requests_known: usize,
    /// Where something has committed that somebody may wait for.
    pub(crate) followed: Followed,
}

impl Tables {
    /// No table yet.
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            waiting: None,
            slots: Vec::new(),
            by_name: BTreeMap::new(),
            by_id: BTreeMap::new(),
            places: HashMap::default(),
            parent_clears: BTreeMap::new(),
            removed: Removed::default(),
            requests_known: 0,
            followed: Followed::default(),
        }
    }

    /// The catalog that this brick works by.
    #[inline]
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Another catalog is in force; the one before.
    pub(crate) fn replace_catalog(&mut self, catalog: Arc<Catalog>) -> Arc<Catalog> {
        std::mem::replace(&mut self.catalog, catalog)
    }

    /// A newer catalog is to be adopted.
    pub(crate) fn wait_for(&mut self, catalog: Arc<Catalog>) {
        self.waiting = Some(catalog);
    }

    /// The catalog that waits to be adopted.
    pub(crate) fn waiting(&self) -> Option<&Arc<Catalog>> {
        self.waiting.as_ref()
    }

    /// The wait is over.
    pub(crate) fn take_waiting(&mut self) -> Option<Arc<Catalog>> {
        self.waiting.take()
    }

    /// Whether a newer catalog waits to be adopted: nothing is prepared under the old one any more.
    #[inline]
    pub(crate) fn is_adopting(&self) -> bool {
        self.waiting.is_some()
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&TableState> {
        self.slots.get(index)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut TableState> {
        self.slots.get_mut(index)?.as_mut()
    }

    /// Places of tables: those of dropped ones are empty.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All tables.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &TableState> + Clone {
        self.slots.iter().flatten()
    }

    /// All tables.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut TableState> {
        self.slots.iter_mut().flatten()
    }

    /// All tables, with their places.
    pub(crate) fn indexed_mut(&mut self) -> impl Iterator<Item = (usize, &mut TableState)> {
        let slots = self.slots.iter_mut().enumerate();
        slots.filter_map(|(index, state)| Some((index, state.as_mut()?)))
    }

    /// The place of a table.
    #[inline]
    pub(crate) fn index_of(&self, id: TableId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Whether there was a table of that id that is not there any more, nor ever will be.
    pub(crate) fn is_dropped(&self, id: TableId) -> bool {
        self.index_of(id).is_none() && !self.catalog.may_make_table(id)
    }

    /// The place of a table.
    pub(crate) fn index_named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// A table by its id.
    #[inline]
    pub(crate) fn of(&self, id: TableId) -> Option<&TableState> {
        self.get(self.index_of(id)?)
    }

    /// A table by its name.
    pub(crate) fn named(&self, name: &str) -> Option<&TableState> {
        self.get(self.index_named(name)?)
    }

    /// Names of all tables, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.by_name.keys().map(String::as_str)
    }

    /// Ids of all tables, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = TableId> {
        self.by_id.keys().copied()
    }

    /// A table is made: its place.
    pub(crate) fn add(&mut self, state: TableState) -> usize {
        let index = self.slots.len();
        let by_name = self.by_name.insert(state.name.clone(), index);
        let by_id = self.by_id.insert(state.id, index);
        assert!(
            by_name.is_none() && by_id.is_none(),
            "table '{}' is here already",
            state.name
        );
        self.slots.push(Some(state));
        index
    }

    /// A table is dropped. Its partitions have left before.
    pub(crate) fn remove(&mut self, id: TableId) -> Option<TableState> {
        let index = self.by_id.remove(&id)?;
        let state = self.slots.get_mut(index)?.take()?;
        let named = self.by_name.remove(&state.name);
        assert_eq!(named, Some(index), "the name of table '{}'", state.name);
        assert!(
            !self
                .places
                .values()
                .any(|(table, _)| *table as usize == index),
            "table '{}' goes, and not all of its partitions have left",
            state.name
        );
        Some(state)
    }

    /// Finds a key: its table's map is right for as long as the catalog is.
    #[inline]
    pub(crate) fn locate(&self, table: usize, key: &[u8]) -> Option<Location> {
        Some(self.get(table)?.map.locate(key))
    }

    /// Copies that another brick has sent stand in the log.
    pub(crate) fn note_copied(&mut self, copies: &Committed) {
        let mut last = None;
        for KeyRef {
            table, partition, ..
        } in copies.operations.iter().map(|it| it.key)
        {
            // They come partition by partition.
            if last.replace((table, partition)) == Some((table, partition)) {
                continue;
            }
            let held = self
                .get_mut(table as usize)
                .map(|it| it.partitions.iter_mut().flatten());
            if let Some(held) = held.and_then(|mut held| held.find(|it| it.local == partition)) {
                held.gaps.note_copied(copies.position.segment);
            }
        }
    }

    /// Applies committed operations of one batch to their tables. Fresh are those whose keys were looked up here a moment ago.
    pub(crate) fn apply_committed(&mut self, committed: &Committed, are_fresh: bool) {
        for group in committed.operations.chunks(AHEAD) {
            if !are_fresh {
                self.look_ahead(group.iter());
            }
            for prepared in group {
                self.apply_change(prepared, &committed.bytes, committed.position);
            }
        }
    }

    /// The same of what others have committed, and this brick is copied.
    pub(crate) fn apply_copied(&mut self, copied: &Committed) {
        for group in copied.operations.chunks(AHEAD) {
            self.look_ahead(group.iter());
            for prepared in group {
                self.apply(prepared, &copied.bytes, copied.position);
            }
        }
    }

    /// Applies an operation that has committed here, and keeps what it changes.
    #[inline]
    pub(crate) fn apply_change(&mut self, prepared: &Prepared, bytes: &[u8], batch: Position) {
        if self.keep_changes() {
            self.note_change(prepared, bytes);
        }
        self.apply(prepared, bytes, batch);
    }

    /// A record's place in memory is anywhere, so that it is asked for ahead: first all buckets, then all records.
    #[inline]
    pub(crate) fn look_ahead<'a>(&self, group: impl Iterator<Item = &'a Prepared> + Clone) {
        // What is void may name a place in the table that is no more.
        let keys = group.filter(|it| it.has_key() && !it.is_void);
        self.look_ahead_for(keys.map(|it| it.key));
    }

    /// The same for the records of these keys.
    #[inline]
    pub(crate) fn look_ahead_for(&self, keys: impl Iterator<Item = KeyRef> + Clone) {
        if keys.clone().nth(1).is_none() {
            return;
        }
        for KeyRef {
            table,
            partition,
            hash,
        } in keys.clone()
        {
            if let Some(state) = self.get(table as usize) {
                state.table.prefetch_bucket(partition, hash);
            }
        }
        for KeyRef {
            table,
            partition,
            hash,
        } in keys
        {
            if let Some(state) = self.get(table as usize) {
                state.table.prefetch_record(partition, hash);
            }
        }
    }

    /// Applies a committed operation to its table; `batch` is where the batch stands whose bytes these are.
    #[inline]
    pub(crate) fn apply(&mut self, prepared: &Prepared, bytes: &[u8], batch: Position) {
        // A table that was dropped while the write was on its way took the write with it.
        let Some(state) = self.get_mut(prepared.key.table as usize) else {
            return;
        };
        // A request that changed nothing is an empty batch.
        if prepared.is_void || prepared.kind == Kind::Batch {
            return;
        }
        let position = match batch {
            Position::NONE => batch,
            _ => Position {
                segment: batch.segment,
                offset: batch.offset + prepared.record_at,
            },
        };
        state.apply(prepared, bytes, position);
        if prepared.kind == Kind::Clear {
            self.note_removed();
        }
    }

    /// Which partition a key is of.
    pub(crate) fn partition_of(&self, key: &KeyRef) -> Option<PartitionId> {
        let state = self.get(key.table as usize)?;
        let mut held = state.partitions.iter().flatten();
        Some(held.find(|it| it.local == key.partition)?.id)
    }

    /// The partition is at that leaf of that table from now on.
    pub(crate) fn place(&mut self, partition: PartitionId, table: usize, leaf: usize) {
        let state = self.get(table);
        let leaves = state.map_or(0, |it| it.partitions.len());
        assert!(
            leaf < leaves,
            "partition {partition} is leaf {leaf} of the {leaves} that table {table} has"
        );
        let held = state.and_then(|it| it.partitions[leaf].as_ref());
        let held = held.map(|it| it.id);
        assert_eq!(held, Some(partition), "leaf {leaf} of table {table}");
        self.places.insert(partition, (table as u32, leaf as u32));
    }

    /// The partition is not here any more.
    pub(crate) fn unplace(&mut self, partition: PartitionId) {
        self.places.remove(&partition);
    }

    /// Whether this brick holds the partition.
    #[inline]
    pub(crate) fn is_here(&self, partition: PartitionId) -> bool {
        self.places.contains_key(&partition)
    }

    /// The table and leaf of a partition that is here.
    #[inline]
    pub(crate) fn place_of(&self, partition: PartitionId) -> Option<(usize, usize)> {
        let (table, leaf) = *self.places.get(&partition)?;
        Some((table as usize, leaf as usize))
    }

    /// A partition that is here, and its table.
    pub(crate) fn partition(&self, id: PartitionId) -> Option<(&TableState, &Partition)> {
        let (table, leaf) = self.place_of(id)?;
        let state = self.get(table)?;
        Some((state, state.partitions.get(leaf)?.as_ref()?))
    }

    /// A partition that is here.
    #[inline]
    pub(crate) fn partition_mut(&mut self, id: PartitionId) -> Option<&mut Partition> {
        let (table, leaf) = self.place_of(id)?;
        self.get_mut(table)?.partitions.get_mut(leaf)?.as_mut()
    }

    /// Clears that were hit by a loss: an earlier one may be on its way yet.
    pub(crate) fn find_clears(&mut self, log: &Log, lost: Lost) {
        for (table, state) in self.indexed_mut() {
            for partition in state.partitions.iter_mut().flatten() {
                let is_hit = |clear: PendingClear| clear.dependency.is_hit_by(lost);
                if partition.clear.is_some_and(is_hit) {
                    partition.clear = pending_clear(log, table, partition);
                }
            }
        }
    }

    /// What of a partition's clears is pending now.
    pub(crate) fn find_clear(&mut self, log: &Log, id: PartitionId) {
        let Some((table, _)) = self.place_of(id) else {
            return;
        };
        let partition = self.partition_mut(id);
        if let Some(partition) = partition.filter(|it| it.clear.is_some()) {
            partition.clear = pending_clear(log, table, partition);
        }
    }

    /// Lets a table that was altered from `fsync` to `log` go, once nothing of it waits for a sync: its place.
    pub(crate) fn poll_durability(&mut self, synced: BatchId) -> Option<usize> {
        let mut waiting = self.indexed_mut().filter(|(_, it)| it.syncing > BatchId(0));
        let (index, state) = waiting.find(|(_, state)| state.syncing <= synced)?;
        state.syncing = BatchId(0);
        Some(index)
    }
}

/// The last clear of a partition that is pending in the log.
fn pending_clear(log: &Log, table: usize, partition: &Partition) -> Option<PendingClear> {
    let pending = log.pending_clear(table as u32, partition.local, partition.id);
    pending.map(|(op, dependency)| PendingClear { op, dependency })
}
