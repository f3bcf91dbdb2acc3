//! When partitions are split and merged by themselves: by how many bytes they have, and may have in their table (its
//! `PARTITION_BYTES`, or else what the node is set to).
//!
//! In:  the sizes of what this brick leads, once a second. Out: requests to the control plane, one of a kind at a time, so
//!      that not everything waits at once; and, since nobody but the leader hears of both, which small partitions are apart
//!      from their siblings.
//!
//! Invariants:
//! - What has just been split is not merged, nor the other way round: siblings are merged when both together have less
//!   than a quarter of what one may have, and have had that for a while.
//! - What an operator split stays split, and a table keeps the partitions that it was made with.
//!
//! Not here: bringing siblings together (`control`).

use crate::core::Core;
use crate::effect::{ControlRequest, Effect};
use crate::tables::TableState;
use brickyard_metadata::{Cause, Change, Divide, SMALL_SHARE, SPLIT_DEPTH_MAX, Small};
use brickyard_routing::Group;
use brickyard_types::{Instant, PartitionId};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often small partitions that are apart from their siblings are told of.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Most of them that are told of at a time; the others are next.
const TOLD_MAX: usize = 1_024;

/// What is known of partitions that have shrunk.
#[derive(Debug, Default)]
pub(crate) struct Shrunk {
    /// Siblings that are small and together, by the left one, and since when.
    since: BTreeMap<PartitionId, Instant>,
    /// When those were told of last that are apart.
    told: Option<Instant>,
    /// Where the next telling begins.
    next: PartitionId,
}

impl Core {
    /// Asks for the split of the largest partition that has outgrown `partition_bytes`, and for the merge of the smallest
    /// siblings that have shrunk, of those that this brick leads.
    pub(crate) fn resize_partitions(&mut self) {
        if self.replicas.is_leased {
            self.split_largest();
            if self.shared.limits.merge_after > Duration::ZERO {
                self.merge_smallest();
                self.tell_small();
            }
        }
    }

    /// How large a partition of a table may be; `None`: as large as it gets.
    fn bytes_max(&self, state: &TableState) -> Option<u64> {
        let own = state.layout.partition_bytes;
        Some(own.unwrap_or(self.shared.limits.partition_bytes)).filter(|bytes| *bytes > 0)
    }

    fn split_largest(&mut self) {
        let states = self.tables.iter();
        let resized = states.filter_map(|state| Some((state, self.bytes_max(state)?)));
        let large = resized.flat_map(|(state, bytes_max)| {
            let leaves = state.map.partitions().leaves().iter();
            let all = leaves.zip(state.map.groups()).zip(&state.partitions);
            all.filter_map(move |((leaf, group), held)| {
                let held = held.as_ref().filter(|it| it.status.accepts_writes)?;
                let bytes = state.table.partition_bytes(held.local);
                let may = leaf.prefix.depth() < SPLIT_DEPTH_MAX && is_at_rest(group);
                let share = share(bytes, bytes_max);
                (may && bytes > bytes_max).then_some((share, held.id, state.id))
            })
        });
        if let Some((_, partition, table)) = large.max() {
            self.ask_for(Change::Divide(Divide {
                cause: Cause::Size,
                partitions: vec![(table, partition)],
            }));
        }
    }

    fn merge_smallest(&mut self) {
        let states = self.tables.iter();
        let small: Vec<(u64, PartitionId, String)> = states
            .filter(|state| state.is_divided)
            .filter_map(|state| Some((state, self.bytes_max(state)?)))
            .flat_map(|(state, bytes_max)| {
                let grown = self.tables.catalog().grown_siblings(state.id);
                let sized = grown
                    .into_iter()
                    .filter_map(|[left, right]| Some((bytes_of(state, left, right)?, left)));
                let shares = sized.map(move |(bytes, left)| (share(bytes, bytes_max), left));
                let small = shares.filter(|(share, _)| *share < u64::from(SMALL_SHARE));
                small.map(|(share, left)| (share, left, state.name.clone()))
            })
            .collect();
        let now = self.now;
        let before = std::mem::take(&mut self.moves.shrunk.since);
        let since = |left: PartitionId| before.get(&left).copied().unwrap_or(now);
        self.moves.shrunk.since = small.iter().map(|(_, it, _)| (*it, since(*it))).collect();
        let due = small
            .into_iter()
            .filter(|(_, left, _)| now - since(*left) >= self.shared.limits.merge_after);
        if let Some((_, partition, table)) = due.min() {
            self.ask_for(Change::MergePartitions { table, partition });
        }
    }

    /// Tells the leader of small partitions whose siblings are on other bricks.
    fn tell_small(&mut self) {
        let now = self.now;
        if self
            .moves
            .shrunk
            .told
            .is_some_and(|told| now - told < TOLD_EVERY)
        {
            return;
        }
        let mut small = self.small_and_apart();
        if small.is_empty() {
            return;
        }
        self.moves.shrunk.told = Some(now);
        small.sort_by_key(|it| (it.partition < self.moves.shrunk.next, it.partition));
        let next = small.get(TOLD_MAX).or_else(|| small.first());
        self.moves.shrunk.next = next.map(|it| it.partition).unwrap_or_default();
        small.truncate(TOLD_MAX);
        let request = ControlRequest::Small(small);
        self.effects.push_back(Effect::Control(0, request));
    }

    /// What this brick leads and could be merged by its size, were its sibling on the same bricks.
    pub(crate) fn small_and_apart(&self) -> Vec<Small> {
        let states = self.tables.iter().filter(|it| it.is_divided);
        let resized = states.filter_map(|state| Some((state, self.bytes_max(state)?)));
        let small = resized.flat_map(|(state, bytes_max)| {
            let table = self.tables.catalog().table_by_id(state.id);
            let siblings = self.tables.catalog().grown_siblings(state.id).into_iter();
            let apart = siblings
                .filter(move |siblings| table.is_some_and(|it| !it.are_together(*siblings)));
            apart.flatten().filter_map(move |partition| {
                let bytes = led_bytes(state, partition)?;
                let share = u16::try_from(share(bytes, bytes_max)).ok()?;
                (share < SMALL_SHARE).then_some(Small { partition, share })
            })
        });
        small.collect()
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

/// What a partition has that this brick leads.
fn led_bytes(state: &TableState, partition: PartitionId) -> Option<u64> {
    let leaf = state.map.partitions().index_of(partition)?;
    let held = state.partitions.get(leaf)?.as_ref()?;
    let is_led = held.status.accepts_writes;
    is_led.then(|| state.table.partition_bytes(held.local))
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
