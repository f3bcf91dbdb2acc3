//! Splits and merges of partitions that are under way.
//!
//! In: intents that begin, go on and end. Out: the split or merge that a partition is part of; the partitions whose primaries
//! are to come to rest.
//!
//! Invariants:
//! - A partition is part of one split or merge at most. It is in its table's map; the partitions to be have ids that were
//!   given out, to nothing else.
//! - An intent is bound to a version of the catalog and to views, which name it among all that the partition ever had.
//!
//! Not here: what may begin, and how it ends (`split`, `merge`).

use crate::{ids::Ids, tables::Tables, version::CatalogVersion};
use brickyard_types::{PartitionId, TableId, View};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Why partitions are split by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// There are too few of them for the bricks.
    Bricks,
    /// It has grown; what shrinks again is merged by itself.
    Size,
    /// It takes much of its brick's time; what cools down is merged by itself.
    Load,
}

/// A split that is under way: the partition's primary takes no more writes, and says when none is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The table.
    pub table: TableId,
    /// The view that it is bound to.
    pub view: View,
    /// The partitions to be, the one with the lower hashes first.
    pub halves: [PartitionId; 2],
    /// The catalog's version that first had it; names it among the splits of the partition.
    pub begun_at: CatalogVersion,
    /// Why; `None`: an operator wants it.
    pub cause: Option<Cause>,
}

/// A merge that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merge {
    /// The table.
    pub table: TableId,
    /// The partition to be.
    pub into: PartitionId,
    /// The sibling with the higher hashes. (The other one names the merge.)
    pub right: PartitionId,
    /// Both come to rest; `None`: they are still led by different bricks.
    pub resting: Option<Resting>,
}

/// Siblings whose primary takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resting {
    /// The views that it is bound to, the left one's first.
    pub views: [View; 2],
    /// The catalog's version that first had it; names it among the rests of the partitions.
    pub begun_at: CatalogVersion,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transitions {
    splits: BTreeMap<PartitionId, Split>,
    /// By the left sibling.
    merges: BTreeMap<PartitionId, Merge>,
}

impl Transitions {
    pub(crate) fn split_of(&self, partition: PartitionId) -> Option<&Split> {
        self.splits.get(&partition)
    }

    pub(crate) fn splits(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Split)> {
        self.splits.iter().map(|(partition, it)| (*partition, it))
    }

    /// The merge whose left sibling a partition is.
    pub(crate) fn merge_from(&self, left: PartitionId) -> Option<&Merge> {
        self.merges.get(&left)
    }

    /// By the left sibling.
    pub(crate) fn merges(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Merge)> {
        self.merges.iter().map(|(left, it)| (*left, it))
    }

    /// The merge that a partition is part of, and its left sibling.
    pub(crate) fn merge_of(&self, partition: PartitionId) -> Option<(PartitionId, &Merge)> {
        let mut all = self.merges();
        all.find(|(left, merge)| *left == partition || merge.right == partition)
    }

    /// Whether a partition is being split or merged.
    pub(crate) fn has(&self, partition: PartitionId) -> bool {
        self.splits.contains_key(&partition) || self.merge_of(partition).is_some()
    }

    /// The partitions whose primaries are to come to rest: in which view, and which rest it is.
    pub(crate) fn rests(&self) -> impl Iterator<Item = (PartitionId, (View, CatalogVersion))> {
        let splits = self
            .splits()
            .map(|(partition, split)| (partition, (split.view, split.begun_at)));
        let merges = self.merges().filter_map(|(left, merge)| {
            let Resting { views, begun_at } = merge.resting?;
            Some([
                (left, (views[0], begun_at)),
                (merge.right, (views[1], begun_at)),
            ])
        });
        splits.chain(merges.flatten())
    }

    pub(crate) fn begin_split(&mut self, partition: PartitionId, split: Split) {
        assert!(
            !self.has(partition),
            "partition {partition} is split or merged already"
        );
        let [left, right] = split.halves;
        assert!(
            partition < left && left < right,
            "ids {:?} of halves rise",
            split.halves
        );
        self.splits.insert(partition, split);
    }

    pub(crate) fn begin_merge(&mut self, left: PartitionId, merge: Merge) {
        for partition in [left, merge.right] {
            assert!(
                !self.has(partition),
                "partition {partition} is split or merged already"
            );
            assert!(
                partition < merge.into,
                "the id {} of the whole rises",
                merge.into
            );
        }
        self.merges.insert(left, merge);
    }

    pub(crate) fn end_split(&mut self, partition: PartitionId) {
        let ended = self.splits.remove(&partition);
        assert!(ended.is_some(), "the split of {partition} is under way");
    }

    pub(crate) fn end_merge(&mut self, left: PartitionId) {
        let ended = self.merges.remove(&left);
        assert!(ended.is_some(), "the merge from {left} is under way");
    }

    /// Ends splits that do not go on.
    pub(crate) fn retain_splits(&mut self, goes_on: impl Fn(PartitionId, &Split) -> bool) {
        self.splits
            .retain(|partition, split| goes_on(*partition, split));
    }

    /// Ends merges that do not go on, and lets others go a step on.
    pub(crate) fn retain_merges(&mut self, goes_on: impl Fn(PartitionId, &mut Merge) -> bool) {
        self.merges.retain(|left, merge| goes_on(*left, merge));
    }

    /// What contradicts the invariants; for a catalog that was read. `met`: the partitions that there are or were, to be
    /// added to.
    pub(crate) fn check(
        &self,
        tables: &Tables,
        ids: &Ids,
        met: &mut BTreeSet<PartitionId>,
    ) -> Result<(), String> {
        let mut parts = BTreeSet::new();
        let mut is_new = |id: PartitionId| ids.has_drawn_partition(id) && met.insert(id);
        let is_held = |table: TableId, id: PartitionId| {
            let table = tables.by_id(table);
            table.is_some_and(|it| it.map.group(id).is_some())
        };
        for (partition, split) in self.splits() {
            let has_own_ids = split.halves.iter().all(|half| is_new(*half));
            if !is_held(split.table, partition) || !parts.insert(partition) || !has_own_ids {
                return Err(format!(
                    "partition {partition} is split into what cannot be"
                ));
            }
        }
        for (left, merge) in self.merges() {
            let mut both = [left, merge.right].into_iter();
            let are_held = both.all(|it| is_held(merge.table, it) && parts.insert(it));
            if !are_held || !is_new(merge.into) {
                return Err(format!("partition {left} is merged into what cannot be"));
            }
        }
        Ok(())
    }
}
