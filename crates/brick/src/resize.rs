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

use crate::effect::ControlRequest;
use crate::outside::Outside;
use crate::tables::{TableState, Tables};
use brickyard_metadata::{Cause, Change, Divide, SMALL_SHARE, Small};
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

/// How large partitions may be, by what the node is set to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// For tables that say nothing of their own; 0: as large as they get.
    pub(crate) partition_bytes: u64,
    /// How long siblings are small before they are merged; zero: never.
    pub(crate) merge_after: Duration,
}

impl Sizes {
    /// How large a partition of a table may be; `None`: as large as it gets.
    fn bytes_max(self, state: &TableState) -> Option<u64> {
        let own = state.layout.partition_bytes;
        Some(own.unwrap_or(self.partition_bytes)).filter(|bytes| *bytes > 0)
    }

    /// What this brick leads and could be merged by its size, were its sibling on the same bricks.
    fn small_and_apart(self, tables: &Tables) -> Vec<Small> {
        let states = tables.iter().filter(|it| it.is_divided);
        let resized = states.filter_map(|state| Some((state, self.bytes_max(state)?)));
        let small = resized.flat_map(|(state, bytes_max)| {
            let table = tables.catalog().table_by_id(state.id);
            let siblings = tables.catalog().grown_siblings(state.id).into_iter();
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
}

impl Shrunk {
    /// Asks for the split of the largest partition that has outgrown its size, and for the merge of the smallest
    /// siblings that have shrunk, of those that this brick leads.
    pub(crate) fn resize(&mut self, tables: &Tables, sizes: Sizes, outside: &mut Outside<'_>) {
        split_largest(tables, sizes, outside);
        if sizes.merge_after > Duration::ZERO {
            self.merge_smallest(tables, sizes, outside);
            self.tell_small(tables, sizes, outside);
        }
    }

    fn merge_smallest(&mut self, tables: &Tables, sizes: Sizes, outside: &mut Outside<'_>) {
        let small: Vec<(u64, PartitionId, String)> = tables
            .iter()
            .filter(|state| state.is_divided)
            .filter_map(|state| Some((state, sizes.bytes_max(state)?)))
            .flat_map(|(state, bytes_max)| {
                let grown = tables.catalog().grown_siblings(state.id);
                let sized = grown
                    .into_iter()
                    .filter_map(|[left, right]| Some((bytes_of(state, left, right)?, left)));
                let shares = sized.map(move |(bytes, left)| (share(bytes, bytes_max), left));
                let small = shares.filter(|(share, _)| *share < u64::from(SMALL_SHARE));
                small.map(|(share, left)| (share, left, state.name.clone()))
            })
            .collect();
        let now = outside.now;
        let before = std::mem::take(&mut self.since);
        let since = |left: PartitionId| before.get(&left).copied().unwrap_or(now);
        self.since = small.iter().map(|(_, it, _)| (*it, since(*it))).collect();
        let due = small
            .into_iter()
            .filter(|(_, left, _)| now - since(*left) >= sizes.merge_after);
        if let Some((_, partition, table)) = due.min() {
            let merge = Change::MergePartitions { table, partition };
            outside.tell_control(ControlRequest::Change(merge));
        }
    }

    /// Tells the leader of small partitions whose siblings are on other bricks.
    fn tell_small(&mut self, tables: &Tables, sizes: Sizes, outside: &mut Outside<'_>) {
        let now = outside.now;
        if self.told.is_some_and(|told| now - told < TOLD_EVERY) {
            return;
        }
        let mut small = sizes.small_and_apart(tables);
        if small.is_empty() {
            return;
        }
        self.told = Some(now);
        small.sort_by_key(|it| (it.partition < self.next, it.partition));
        let next = small.get(TOLD_MAX).or_else(|| small.first());
        self.next = next.map(|it| it.partition).unwrap_or_default();
        small.truncate(TOLD_MAX);
        outside.tell_control(ControlRequest::Small(small));
    }
}

fn split_largest(tables: &Tables, sizes: Sizes, outside: &mut Outside<'_>) {
    let states = tables.iter();
    let resized = states.filter_map(|state| Some((state, sizes.bytes_max(state)?)));
    let large = resized.flat_map(|(state, bytes_max)| {
        let leaves = state.map.partitions().leaves().iter();
        let all = leaves.zip(state.map.groups()).zip(&state.partitions);
        all.filter_map(move |((leaf, group), held)| {
            let held = held.as_ref().filter(|it| it.status.accepts_writes)?;
            let bytes = state.table.partition_bytes(held.local);
            let depth_max = state.map.hasher().hasher().split_depth_max();
            let may = leaf.prefix.depth() < depth_max && is_at_rest(group);
            let share = share(bytes, bytes_max);
            (may && bytes > bytes_max).then_some((share, held.id, state.id))
        })
    });
    if let Some((_, partition, table)) = large.max() {
        let divide = Change::Divide(Divide {
            cause: Cause::Size,
            partitions: vec![(table, partition)],
        });
        outside.tell_control(ControlRequest::Change(divide));
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
    assert!(bytes_max > 0, "a share of no bytes");
    bytes.saturating_mul(1_000) / bytes_max
}

fn is_at_rest(group: &Group) -> bool {
    group.change.is_none() && group.learners.is_empty()
}

#[cfg(test)]
#[path = "resize_test.rs"]
mod resize_test;
