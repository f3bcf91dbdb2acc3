//! What became of partitions that were split or merged: whose the records are that the log has of them.
//!
//! In:  the id of a partition, and a key. Out: the partition that has the key now; or all that have any of its keys.
//!
//! Invariant: a key's records, of whatever partition, are in the order of their ops: a partition that takes the place
//! of another one goes on with its numbers.

use crate::core::{Core, Partition};
use brickyard_metadata::{Catalog, Merged};
use brickyard_routing::Prefix;
use brickyard_types::{PartitionId, TableId};

impl Core {
    /// Where a record of a partition belongs that has this key: the partition itself as long as it is there. `None` if
    /// its table is not.
    pub(crate) fn heir(
        &self,
        table: TableId,
        partition: PartitionId,
        key: &[u8],
    ) -> Option<PartitionId> {
        let state = self.table(*self.table_by_id.get(&table)?)?;
        let is_there = state.map.partitions().index_of(partition).is_some();
        if is_there || !self.is_former(partition) {
            return Some(partition);
        }
        Some(state.map.locate(key).partition)
    }

    /// The partitions of this brick that have anything of what a partition had: itself, or, if it was split or merged,
    /// those in its place.
    pub(crate) fn heirs(&self, partition: PartitionId) -> Vec<PartitionId> {
        if self.place_of(partition).is_ok() {
            return vec![partition];
        }
        let Some(former) = self.catalog.former(partition) else {
            return Vec::new();
        };
        let table = self.table_by_id.get(&former.table);
        let Some(state) = table.and_then(|table| self.table(*table)) else {
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

    /// Whether an heir has more keys than those that the former partition had: what the log says of all of these says
    /// nothing of the others.
    pub(crate) fn is_wider(&self, heir: PartitionId, former: PartitionId) -> bool {
        heir != former
            && match (self.prefix_of(heir), self.prefix_of(former)) {
                (Some(heir), Some(former)) => heir.depth() < former.depth(),
                _ => false,
            }
    }

    /// Whether the partition was split or merged.
    pub(crate) fn is_former(&self, partition: PartitionId) -> bool {
        self.catalog.former(partition).is_some()
    }

    /// The routing hashes of a partition that there is or was.
    pub(crate) fn prefix_of(&self, partition: PartitionId) -> Option<Prefix> {
        if let Some(former) = self.catalog.former(partition) {
            return Some(former.prefix());
        }
        let (table, leaf) = self.place_of(partition).ok()?;
        let leaves = self.table(table)?.map.partitions().leaves();
        leaves.get(leaf).map(|leaf| leaf.prefix)
    }

    /// Calls `f` with each partition of this brick that has anything of what a partition had.
    pub(crate) fn for_heirs(&mut self, partition: PartitionId, mut f: impl FnMut(&mut Partition)) {
        for heir in self.heirs(partition) {
            if let Ok((table, leaf)) = self.place_of(heir)
                && let Some(state) = self.table_mut(table)
                && let Some(Some(held)) = state.partitions.get_mut(leaf)
            {
                f(held);
            }
        }
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
