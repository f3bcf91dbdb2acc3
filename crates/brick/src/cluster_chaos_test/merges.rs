//! Merges at random: the control plane's part in them, and what is held of a partition by who has not heard of one.

use super::control::Control;
use crate::tables::halves_of;
use brickyard_metadata::{Change, Proposal, Rest};
use brickyard_routing::Seat;
use brickyard_types::{Op, PartitionId};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many there were in all schedules.
pub(super) static MERGED: AtomicU64 = AtomicU64::new(0);

impl Control {
    /// Begins to merge a partition with its sibling, for no reason, if that can be.
    pub(super) fn begin_merge(&mut self, dice: usize) -> Option<String> {
        let all = self.groups();
        let names: Vec<String> = self.catalog.tables().map(|it| it.name.clone()).collect();
        (0..all.len()).find_map(|at| {
            let (id, partition, _) = &all[(dice + at) % all.len()];
            let table = names.iter().find(|name| {
                let named = self.catalog.table(name);
                named.is_some_and(|it| it.id == *id)
            })?;
            let change = Change::MergePartitions {
                table: table.clone(),
                partition: *partition,
            };
            let is_done = self.catalog.apply(change).is_ok();
            is_done.then(|| format!("partition {partition} is to be merged"))
        })
    }

    /// Siblings that are to be merged get one primary.
    pub(super) fn lead_siblings_together(&mut self) {
        let merges: Vec<_> = self.catalog.merges().map(|(of, it)| (of, *it)).collect();
        for (left, merge) in merges {
            let groups = self.groups();
            let group_of = |id| groups.iter().find(|it| it.1 == id).map(|it| &it.2);
            let (Some(left), Some(right)) = (group_of(left), group_of(merge.right)) else {
                continue;
            };
            if left.primary != right.primary && right.change.is_none() {
                let others = right.in_sync().filter(|it| *it != left.primary);
                let seats: Vec<Seat> = std::iter::once(left.primary).chain(others).collect();
                self.propose(Proposal::of(merge.table, merge.right, right, &seats));
            }
        }
    }

    /// A primary says that one of two siblings is at rest.
    pub(super) fn note_rest(&mut self, primary: Seat, rest: Rest) -> Option<String> {
        let (left, merge) = self.catalog.merge_of(rest.partition)?;
        let halves = [left, merge.right];
        let into = merge.into;
        let groups = self.groups();
        let group = groups.iter().find(|it| it.1 == rest.partition)?;
        if group.2.primary != primary {
            return None;
        }
        self.rests.insert(rest.partition, rest);
        let [left, right] = halves.map(|half| self.rests.get(&half).copied());
        let change = Change::from(vec![[left?, right?]]);
        let applied = self.catalog.apply(change);
        if !applied.is_ok_and(|applied| applied.stale.is_empty()) {
            return None;
        }
        MERGED.fetch_add(1, Relaxed);
        self.pass_doubts(&halves, into);
        Some(format!("partitions {halves:?} are merged into {into}"))
    }

    /// The highest op of a partition that is held, by what is held of partitions that there are or were.
    pub(super) fn held_of(
        &self,
        partition: PartitionId,
        held: impl Fn(PartitionId) -> Option<Op>,
    ) -> Option<Op> {
        let merged = |whole: PartitionId| {
            let halves = halves_of(&self.catalog, whole);
            let ends = halves.map(|half| {
                let merged = self.catalog.merged(half)?;
                (held(half)? >= merged.last.1).then_some(merged.base.1)
            });
            ends[0].and(ends[1])
        };
        // Who has not heard yet that it was split or merged holds what was there before.
        let wholes = self.wholes(partition).into_iter();
        wholes.map(|it| held(it).max(merged(it))).max().flatten()
    }
}
