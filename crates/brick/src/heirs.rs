//! What became of partitions that were split: whose the records are that the log has of them.
//!
//! In:  the id of a partition, and a key. Out: the partition that has the key now; or all that have any of its keys.
//!
//! Invariant: a key's records, of whatever partition, are in the order of their ops: a partition that takes the place
//! of another one goes on with its numbers.

use crate::core::{Core, Partition};
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
        if state.map.partitions().index_of(partition).is_some() || !self.is_former(partition) {
            return Some(partition);
        }
        Some(state.map.locate(key).partition)
    }

    /// The partitions of this brick that have anything of what a partition had: itself, or, if it was split, its parts.
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
        let leaves = state.map.partitions().leaves();
        let first = state.map.partitions().leaf_index(former.prefix().first());
        let within = leaves[first..]
            .iter()
            .zip(&state.partitions[first..])
            .take_while(|(leaf, _)| former.prefix().contains(leaf.prefix.first()));
        within
            .filter_map(|(_, held)| held.as_ref())
            .map(|held| held.id)
            .collect()
    }

    /// Whether the partition was split.
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
