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
        if is_there || !self.is_former(partition) {
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
        let Some(former) = self.catalog.former(partition) else {
            return Vec::new();
        };
        let Some(state) = self.of(former.table) else {
            return Vec::new();
        };
        let over = state.map.partitions().leaves_over(former.prefix()).iter();
        over.filter_map(|leaf| {
            let at = state.map.partitions().index_of(leaf.partition)?;
            state.partitions.get(at)?.as_ref()
        })
        .map(|held| held.id)
        .collect()
    }

    /// Whether a child has more keys than those that the former partition had: what the log says of all of these says
    /// nothing of the others.
    pub(crate) fn is_wider(&self, child: PartitionId, former: PartitionId) -> bool {
        child != former
            && match (self.prefix_of(child), self.prefix_of(former)) {
                (Some(child), Some(former)) => child.depth() < former.depth(),
                _ => false,
            }
    }

    /// Whether the partition was split or merged.
    pub(crate) fn is_former(&self, partition: PartitionId) -> bool {
        self.catalog.former(partition).is_some()
    }

    /// Whether a former partition had keys that this prefix covers, and was another one's predecessor: numbers of
    /// partitions rise from one to those that take its place.
    pub(crate) fn is_around(
        &self,
        former: PartitionId,
        table: TableId,
        (partition, prefix): (PartitionId, Prefix),
    ) -> bool {
        let whole = self.catalog.former(former);
        former < partition
            && whole.is_some_and(|it| it.table == table && it.prefix().overlaps(prefix))
    }

    /// The routing hashes of a partition that there is or was.
    pub(crate) fn prefix_of(&self, partition: PartitionId) -> Option<Prefix> {
        if let Some(former) = self.catalog.former(partition) {
            return Some(former.prefix());
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
            let former = self.catalog.former(*half);
            former.is_some_and(|it| it.table == state.id && it.prefix().overlaps(prefix))
        });
        merged.map(|(_, it)| it.base.1).max()
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
    pub(crate) fn note_former_clear(&mut self, former: PartitionId, op: Op) {
        let cleared = self.former_clears.entry(former).or_default();
        *cleared = op.max(*cleared);
    }

    /// A brick's copy of a former partition ends here, and what was read of it counts for nothing: that goes out of an
    /// child which has keys of others as well.
    pub(crate) fn sweep_former(&mut self, child: PartitionId, former: PartitionId) {
        self.former_clears.remove(&former);
        if let Some(prefix) = self.prefix_of(former) {
            self.sweep(child, |hash, _| prefix.contains(hash));
        }
    }

    /// What merged partitions were cleared of goes, now that all of the log is read; of one table, or of all.
    pub(crate) fn sweep_former_clears(&mut self, table: Option<TableId>) {
        let mut wide: BTreeMap<PartitionId, Vec<_>> = BTreeMap::new();
        for (former, prefix, op) in self.former_clears(table) {
            for child in self.children(former) {
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
        let Some(former) = self.catalog.former(whole) else {
            return Vec::new();
        };
        let Some(state) = self.of(former.table).filter(|it| it.is_logged()) else {
            return Vec::new();
        };
        let leaves = state.map.partitions().leaves().iter();
        let others = leaves
            .zip(&state.partitions)
            .filter(|(leaf, held)| held.is_none() && former.prefix().contains(leaf.prefix.first()));
        others
            .map(|(leaf, _)| (former.table, leaf.partition, (former.view, Op(0))))
            .collect()
    }

    /// A table goes out of memory.
    pub(crate) fn forget_former_clears_of(&mut self, table: TableId) {
        let catalog = &self.catalog;
        let is_its = |it: &PartitionId| catalog.former(*it).is_some_and(|it| it.table == table);
        self.former_clears.retain(|former, _| !is_its(former));
    }

    /// Former partitions that had been cleared, with their keys' hashes; of one table, or of all.
    pub(crate) fn former_clears(
        &self,
        table: Option<TableId>,
    ) -> impl Iterator<Item = (PartitionId, Prefix, Op)> {
        self.former_clears.iter().filter_map(move |(former, op)| {
            let of = self.catalog.former(*former)?;
            let is_its = table.is_none_or(|table| of.table == table);
            is_its.then(|| (*former, of.prefix(), *op))
        })
    }

    /// Up to which op a former partition, or one that took its place and was merged in its turn, had been cleared.
    pub(crate) fn former_cleared(&self, table: TableId, prefix: Prefix) -> Op {
        let around = self.former_clears(Some(table));
        let around = around.filter(|(_, wide, _)| wide.covers(prefix));
        around.map(|(_, _, op)| op).max().unwrap_or_default()
    }
}

/// The two that were merged into a partition, the left one first; twice no partition at all if it was made otherwise.
pub(crate) fn halves_of(catalog: &Catalog, whole: PartitionId) -> [PartitionId; 2] {
    let halves = catalog.all_merged().filter(|(_, it)| it.into == whole);
    let first = |partition: &PartitionId| catalog.former(*partition).map(|it| it.prefix().first());
    let mut halves: Vec<PartitionId> = halves.map(|(half, _)| half).collect();
    halves.sort_by_key(first);
    halves.try_into().unwrap_or_default()
}

/// Whether a partition, which has or had that prefix, came from `whole` by splits alone: then a claim of the whole is one
/// of it.
pub(crate) fn is_split_from(
    catalog: &Catalog,
    table: TableId,
    whole: PartitionId,
    (part, prefix): (PartitionId, Prefix),
) -> bool {
    let is_covered = catalog
        .former(whole)
        .is_some_and(|former| former.prefix().covers(prefix));
    // Numbers of partitions rise from one to those that take its place.
    let is_between = |(half, _): (PartitionId, &Merged)| {
        (whole..part).contains(&half)
            && catalog
                .former(half)
                .is_some_and(|it| it.table == table && it.prefix().overlaps(prefix))
    };
    is_covered && !catalog.all_merged().any(is_between)
}
