//! What became of partitions that were split or merged: whose the records are that the log has of them.
//!
//! In:  the id of a partition, and a key. Out: the partition that has the key now; or all that have any of its keys.
//!
//! Invariant: a key's records, of whatever partition, are in the order of their ops: a partition that takes the place
//! of another one goes on with its numbers.

use super::{Partition, Tables};
use brickyard_metadata::{Catalog, Merged};
use brickyard_routing::{Prefix, RoutingHash};
use brickyard_types::{Op, PartitionId, TableId, View};
use std::collections::BTreeMap;

impl Tables {
    /// Where a record of a partition belongs that has this key: the partition itself as long as it is there. `None` if
    /// its table is not.
    pub(crate) fn child(
        &self,
        table: TableId,
        partition: PartitionId,
        key: &[u8],
    ) -> Option<PartitionId> {
        let state = self.of(table)?;
        let is_there = state.map.partitions().index_of(partition).is_some();
        if is_there || !self.is_parent(partition) {
            return Some(partition);
        }
        Some(state.map.locate(key).partition)
    }

    /// The partitions of this brick that have anything of what a partition had: itself, or, if it was split or merged,
    /// those in its place.
    pub(crate) fn children(&self, partition: PartitionId) -> Vec<PartitionId> {
        if self.is_here(partition) {
            return vec![partition];
        }
        let Some(parent) = self.catalog.parent(partition) else {
            return Vec::new();
        };
        let Some(state) = self.of(parent.table) else {
            return Vec::new();
        };
        let over = state.map.partitions().leaves_over(parent.prefix()).iter();
        over.filter_map(|leaf| {
            let at = state.map.partitions().index_of(leaf.partition)?;
            state.partitions.get(at)?.as_ref()
        })
        .map(|held| held.id)
        .collect()
    }

    /// Whether a child has more keys than those that the parent partition had: what the log says of all of these says
    /// nothing of the others.
    pub(crate) fn is_wider(&self, child: PartitionId, parent: PartitionId) -> bool {
        child != parent
            && match (self.prefix_of(child), self.prefix_of(parent)) {
                (Some(child), Some(parent)) => child.depth() < parent.depth(),
                _ => false,
            }
    }

    /// Whether the partition was split or merged.
    pub(crate) fn is_parent(&self, partition: PartitionId) -> bool {
        self.catalog.parent(partition).is_some()
    }

    /// Whether a parent partition had keys that this prefix covers, and was another one's predecessor: numbers of
    /// partitions rise from one to those that take its place.
    pub(crate) fn is_around(
        &self,
        parent: PartitionId,
        table: TableId,
        (partition, prefix): (PartitionId, Prefix),
    ) -> bool {
        let whole = self.catalog.parent(parent);
        parent < partition
            && whole.is_some_and(|it| it.table == table && it.prefix().overlaps(prefix))
    }

    /// The routing hashes of a partition that there is or was.
    pub(crate) fn prefix_of(&self, partition: PartitionId) -> Option<Prefix> {
        if let Some(parent) = self.catalog.parent(partition) {
            return Some(parent.prefix());
        }
        let (table, leaf) = self.place_of(partition)?;
        let leaves = self.get(table)?.map.partitions().leaves();
        leaves.get(leaf).map(|leaf| leaf.prefix)
    }

    /// Up to which op what a partition has may be of partitions that were merged; `None`: nothing of it is.
    pub(crate) fn merged_upto(&self, partition: PartitionId) -> Option<Op> {
        let prefix = self.prefix_of(partition)?;
        let (state, _) = self.partition(partition)?;
        let merged = self.catalog.all_merged().filter(|(half, _)| {
            let parent = self.catalog.parent(*half);
            parent.is_some_and(|it| it.table == state.id && it.prefix().overlaps(prefix))
        });
        merged.map(|(_, it)| it.baseline.1).max()
    }

    /// Calls `f` with each partition of this brick that has anything of what a partition had.
    pub(crate) fn for_children(
        &mut self,
        partition: PartitionId,
        mut f: impl FnMut(&mut Partition),
    ) {
        if let Some(held) = self.partition_mut(partition) {
            return f(held);
        }
        for child in self.children(partition) {
            if let Some(held) = self.partition_mut(child) {
                f(held);
            }
        }
    }

    /// A partition that was merged had been cleared up to `op`.
    pub(crate) fn note_parent_clear(&mut self, parent: PartitionId, op: Op) {
        let cleared = self.parent_clears.entry(parent).or_default();
        *cleared = op.max(*cleared);
    }

    /// A brick's copy of a parent partition ends here, and what was read of it counts for nothing: that goes out of an
    /// child which has keys of others as well.
    pub(crate) fn sweep_parent(&mut self, child: PartitionId, parent: PartitionId) {
        self.parent_clears.remove(&parent);
        if let Some(prefix) = self.prefix_of(parent) {
            self.sweep(child, |hash, _| prefix.contains(hash));
        }
    }

    /// What merged partitions were cleared of goes, now that all of the log is read; of one table, or of all.
    pub(crate) fn sweep_parent_clears(&mut self, table: Option<TableId>) {
        let mut wide: BTreeMap<PartitionId, Vec<_>> = BTreeMap::new();
        for (parent, prefix, op) in self.parent_clears(table) {
            for child in self.children(parent) {
                wide.entry(child).or_default().push((prefix, op));
            }
        }
        for (child, clears) in wide {
            self.sweep(child, |hash, op| {
                let mut clears = clears.iter();
                clears.any(|(prefix, cleared)| op <= *cleared && prefix.contains(hash))
            });
        }
    }

    /// Takes keys of which this is true, by routing hash and op, out of a partition.
    fn sweep(&mut self, partition: PartitionId, goes: impl Fn(RoutingHash, Op) -> bool) {
        let Some((table, leaf)) = self.place_of(partition) else {
            return;
        };
        if let Some(state) = self.get_mut(table)
            && let Some(Some(held)) = state.partitions.get(leaf)
        {
            let (local, hasher) = (held.local, state.map.hasher());
            state
                .table
                .sweep_partition(local, |key, op| !goes(hasher.routing_hash(key), op));
        }
    }

    /// Parts of a partition that was split which are not this brick's: of these the log has nothing that counts, should they
    /// come here again (rule `forced recovery begins a generation`). With what ends them in the log.
    pub(crate) fn other_parts(
        &self,
        whole: PartitionId,
    ) -> Vec<(TableId, PartitionId, (View, Op))> {
        let Some(parent) = self.catalog.parent(whole) else {
            return Vec::new();
        };
        let Some(state) = self.of(parent.table).filter(|it| it.is_logged()) else {
            return Vec::new();
        };
        let leaves = state.map.partitions().leaves().iter();
        let others = leaves
            .zip(&state.partitions)
            .filter(|(leaf, held)| held.is_none() && parent.prefix().contains(leaf.prefix.first()));
        others
            .map(|(leaf, _)| (parent.table, leaf.partition, (parent.view, Op(0))))
            .collect()
    }

    /// A table goes out of memory.
    pub(crate) fn forget_parent_clears_of(&mut self, table: TableId) {
        let catalog = &self.catalog;
        let is_its = |it: &PartitionId| catalog.parent(*it).is_some_and(|it| it.table == table);
        self.parent_clears.retain(|parent, _| !is_its(parent));
    }

    /// Parent partitions that had been cleared, with their keys' hashes; of one table, or of all.
    pub(crate) fn parent_clears(
        &self,
        table: Option<TableId>,
    ) -> impl Iterator<Item = (PartitionId, Prefix, Op)> {
        self.parent_clears.iter().filter_map(move |(parent, op)| {
            let of = self.catalog.parent(*parent)?;
            let is_its = table.is_none_or(|table| of.table == table);
            is_its.then(|| (*parent, of.prefix(), *op))
        })
    }

    /// Up to which op a parent partition, or one that took its place and was merged in its turn, had been cleared.
    pub(crate) fn parent_cleared(&self, table: TableId, prefix: Prefix) -> Op {
        let around = self.parent_clears(Some(table));
        let around = around.filter(|(_, wide, _)| wide.covers(prefix));
        around.map(|(_, _, op)| op).max().unwrap_or_default()
    }
}

/// The two that were merged into a partition, the left one first; twice no partition at all if it was made otherwise.
pub(crate) fn halves_of(catalog: &Catalog, whole: PartitionId) -> [PartitionId; 2] {
    let halves = catalog.all_merged().filter(|(_, it)| it.into == whole);
    let first = |partition: &PartitionId| catalog.parent(*partition).map(|it| it.prefix().first());
    let mut halves: Vec<PartitionId> = halves.map(|(half, _)| half).collect();
    halves.sort_by_key(first);
    halves.try_into().unwrap_or_default()
}

/// Whether a partition, which has or had that prefix, came from `whole` by splits alone: then a log summary of the whole is one
/// of it.
pub(crate) fn is_split_from(
    catalog: &Catalog,
    table: TableId,
    whole: PartitionId,
    (part, prefix): (PartitionId, Prefix),
) -> bool {
    let is_covered = catalog
        .parent(whole)
        .is_some_and(|parent| parent.prefix().covers(prefix));
    // Numbers of partitions rise from one to those that take its place.
    let is_between = |(half, _): (PartitionId, &Merged)| {
        (whole..part).contains(&half)
            && catalog
                .parent(half)
                .is_some_and(|it| it.table == table && it.prefix().overlaps(prefix))
    };
    is_covered && !catalog.all_merged().any(is_between)
}
