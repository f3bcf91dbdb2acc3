//! When partitions are split and merged by themselves: by how many bytes they have, and may have in their table (its
//! `PARTITION_BYTES`, or else what the node is set to).
//!
//! In:  the sizes of what this brick leads, once a second. Out: requests to the control plane, one of a kind at a time, so
//!      that not everything waits at once.
//!
//! Invariants:
//! - What has just been split is not merged, nor the other way round: siblings are merged when both together have less
//!   than a quarter of what one may have, and have had that for a while.
//! - What an operator split stays split, and a table keeps the partitions that it was made with.

use crate::core::{Core, TableState};
use crate::effect::{ControlRequest, Effect};
use brickyard_metadata::{Change, SPLIT_DEPTH_MAX};
use brickyard_routing::Group;
use brickyard_types::{Instant, PartitionId};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long siblings have to be small before they are merged.
const SMALL_FOR: Duration = Duration::from_secs(60);

/// Siblings together may have this part of what one partition may have.
const MERGED_SHARE: u64 = 4;

/// Siblings that are small, by the left one, and since when.
pub(crate) type Small = BTreeMap<PartitionId, Instant>;

impl Core {
    /// Asks for the split of the largest partition that has outgrown `partition_bytes`, and for the merge of the smallest
    /// siblings that have shrunk, of those that this brick leads.
    pub(crate) fn resize_partitions(&mut self) {
        if self.replicas.is_leased {
            self.split_largest();
            self.merge_smallest();
        }
    }

    /// How large a partition of a table may be; `None`: as large as it gets.
    fn bytes_max(&self, state: &TableState) -> Option<u64> {
        let own = state.layout.partition_bytes;
        Some(own.unwrap_or(self.shared.partition_bytes)).filter(|bytes| *bytes > 0)
    }

    fn split_largest(&mut self) {
        let states = self.tables.iter().flatten();
        let resized = states.filter_map(|state| Some((state, self.bytes_max(state)?)));
        let large = resized.flat_map(|(state, bytes_max)| {
            let leaves = state.map.partitions().leaves().iter();
            let all = leaves.zip(state.map.groups()).zip(&state.partitions);
            all.filter_map(move |((leaf, group), held)| {
                let held = held.as_ref().filter(|it| it.status.accepts_writes)?;
                let bytes = state.table.partition_bytes(held.local);
                let may = leaf.prefix.depth() < SPLIT_DEPTH_MAX && is_at_rest(group);
                let share = share(bytes, bytes_max);
                (may && bytes > bytes_max).then(|| (share, held.id, state.name.clone()))
            })
        });
        if let Some((_, partition, table)) = large.max() {
            self.ask_for(Change::SplitGrown { table, partition });
        }
    }

    fn merge_smallest(&mut self) {
        let states = self.tables.iter().flatten();
        let small: Vec<(u64, PartitionId, String)> = states
            .filter(|state| state.is_divided)
            .filter_map(|state| Some((state, self.bytes_max(state)?)))
            .flat_map(|(state, bytes_max)| {
                let grown = self.catalog.grown_siblings(state.id);
                let sized = grown
                    .into_iter()
                    .filter_map(|[left, right]| Some((bytes_of(state, left, right)?, left)));
                let small = sized.filter(move |(bytes, _)| *bytes < bytes_max / MERGED_SHARE);
                small.map(move |(bytes, left)| (share(bytes, bytes_max), left, state.name.clone()))
            })
            .collect();
        let now = self.now;
        let before = std::mem::take(&mut self.small);
        let since = |left: PartitionId| before.get(&left).copied().unwrap_or(now);
        self.small = small.iter().map(|(_, it, _)| (*it, since(*it))).collect();
        let due = small
            .into_iter()
            .filter(|(_, left, _)| now - since(*left) >= SMALL_FOR);
        if let Some((_, partition, table)) = due.min() {
            self.ask_for(Change::MergePartitions { table, partition });
        }
    }

    fn ask_for(&mut self, change: Change) {
        let request = ControlRequest::Change(change);
        self.effects.push_back(Effect::Control(0, request));
    }
}

/// What siblings that this brick holds have together, if it leads the left one and nothing happens to either.
fn bytes_of(state: &TableState, left: PartitionId, right: PartitionId) -> Option<u64> {
    let [left, right] = [left, right].map(|id| {
        let leaf = state.map.partitions().index_of(id)?;
        let held = state.partitions.get(leaf)?.as_ref()?;
        let group = state.map.groups().get(leaf)?;
        is_at_rest(group).then_some(held)
    });
    let (left, right) = (left?, right?);
    let bytes = |local| state.table.partition_bytes(local);
    left.status
        .accepts_writes
        .then(|| bytes(left.local) + bytes(right.local))
}

/// What a partition has, in thousandths of what it may have: tables differ in that.
fn share(bytes: u64, bytes_max: u64) -> u64 {
    bytes.saturating_mul(1_000) / bytes_max
}

fn is_at_rest(group: &Group) -> bool {
    group.change.is_none() && group.learners.is_empty()
}

#[cfg(test)]
#[path = "resize_test.rs"]
mod resize_test;
