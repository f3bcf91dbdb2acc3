//! Two partitions become one again: the intent, and the maps with the whole in the place of the halves.
//!
//! In: one of two siblings (an operator, or a brick, by size); and then the word of both primaries that all of their
//! operations have committed and that they prepare no more. Out: an intent that every brick knows of; then one new
//! partition with the same members, in a view after the last of both, and where the logs of both ended.
//!
//! Invariants (PROTOCOL rule 31):
//! - The siblings have the same members, and one brick leads both, before either comes to rest.
//! - They rest in the views in effect. Whatever changes the members of either ends the intent, and both go on.
//! - The maps change by compare-and-set, when the primary has answered for both.
//! - The whole's ops begin behind the last of both, which is the same op for every replica: so is the claim of whoever
//!   held both to their ends.
//! - A table never has fewer partitions than it was made with, nor than its bricks need (`sizing`).
//!
//! Not here: how bricks join their partitions (`brick`), when to merge (`control`, `brick`).

use crate::{
    catalog::{Catalog, CatalogVersion, Table},
    change::{Applied, StaleAt},
    proposal::Stale,
    refusal::Refusal,
    split::Former,
    together::has_same_members,
};
use brickyard_routing::{Group, MapError, Prefix};
use brickyard_types::{Op, PartitionId, TableId, View};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

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

/// A primary's answer: every operation of the view has committed, and none will follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The view that it answers for.
    pub view: View,
    /// Which rest it answers.
    pub begun_at: CatalogVersion,
    /// Its last record, which has committed.
    pub last: (View, Op),
}

/// What became of a partition that was merged; [`Former`] says what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The partition that took its place, and its sibling's.
    pub into: PartitionId,
    /// The last record of it, which has committed.
    pub last: (View, Op),
    /// Where that partition's operations begin: behind this op, which stands for all that both had.
    pub base: (View, Op),
    /// The history that the base belongs to.
    pub lineage: u32,
}

impl Catalog {
    /// All merges that are under way, by the left sibling.
    pub fn merges(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Merge)> {
        self.merges.iter().map(|(left, it)| (*left, it))
    }

    /// The merge that a partition is part of, and its left sibling.
    #[must_use]
    pub fn merge_of(&self, partition: PartitionId) -> Option<(PartitionId, &Merge)> {
        let mut all = self.merges();
        all.find(|(left, merge)| *left == partition || merge.right == partition)
    }

    /// What became of a partition that was merged; `None` if it was not.
    #[must_use]
    pub fn merged(&self, partition: PartitionId) -> Option<&Merged> {
        self.merged.get(&partition)
    }

    /// All partitions that were merged, of all tables.
    pub fn all_merged(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Merged)> {
        self.merged.iter().map(|(partition, it)| (*partition, it))
    }

    /// The partitions whose primaries are to come to rest, to be split or merged: in which view, and which rest it is.
    pub fn rests(&self) -> impl Iterator<Item = (PartitionId, (View, CatalogVersion))> {
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

    /// Whether a partition is to come to rest: in which view, and which rest that is.
    #[must_use]
    pub fn rest_of(&self, partition: PartitionId) -> Option<(View, CatalogVersion)> {
        self.rests()
            .find(|(id, _)| *id == partition)
            .map(|(_, rest)| rest)
    }

    /// How many bits the prefixes of a table's first partitions had, or those of partitions that its bricks need: none is
    /// merged beyond.
    #[must_use]
    pub fn first_depth(&self, table: &Table) -> u8 {
        let needed = self.depth_wanted(table.id);
        let formers = self.formers().filter(|(_, it)| it.table == table.id);
        let formers = formers.map(|(_, it)| it.prefix().depth());
        let leaves = table.map.partitions().leaves().iter();
        let leaves = leaves.map(|leaf| leaf.prefix.depth());
        let first = formers.chain(leaves).min().unwrap_or_default();
        first.max(needed)
    }

    /// Siblings of a table, the left one first, that came from a partition which was split because it had grown.
    #[must_use]
    pub fn grown_siblings(&self, table: TableId) -> Vec<[PartitionId; 2]> {
        self.siblings_from(table, &self.grown)
    }

    /// Siblings of a table, the left one first, that came from one of these by a split, and need not be two.
    pub(crate) fn siblings_from(
        &self,
        table: TableId,
        marked: &BTreeSet<PartitionId>,
    ) -> Vec<[PartitionId; 2]> {
        let table = self.table_by_id(table).filter(|_| !marked.is_empty());
        let Some(table) = table else {
            return Vec::new();
        };
        let leaves = table.map.partitions().leaves();
        let formers = self.formers().filter(|(_, it)| it.table == table.id);
        // Numbers rise: of two that had the same keys, the last one counts.
        let last: BTreeMap<Prefix, PartitionId> =
            formers.map(|(id, former)| (former.prefix(), id)).collect();
        let needed = self.depth_wanted(table.id);
        let is_marked = |prefix: Prefix| {
            let is_needed = prefix.depth() < needed;
            !is_needed && last.get(&prefix).is_some_and(|it| marked.contains(it))
        };
        let pairs = leaves.windows(2).filter_map(|pair| {
            let parent = pair[0].prefix.parent()?;
            let are_siblings = parent.children() == Some([pair[0].prefix, pair[1].prefix]);
            (are_siblings && is_marked(parent)).then(|| [pair[0].partition, pair[1].partition])
        });
        pairs.collect()
    }

    /// Whether a partition and its sibling can be merged: which two, or `None` if that is under way.
    ///
    /// # Errors
    /// What stands against it.
    pub fn check_merge(
        &self,
        name: &str,
        partition: PartitionId,
    ) -> Result<Option<[PartitionId; 2]>, Refusal> {
        let table = self.tables.get(name);
        let table = table.ok_or_else(|| crate::apply::unknown(name))?;
        self.check_online(table)?;
        let (leaf, _) = table.place_of(partition)?;
        if leaf.prefix.depth() <= self.first_depth(table) {
            return Err(Refusal::FewestPartitions {
                name: name.to_owned(),
                partition: partition.0,
            });
        }
        let Some([left, right]) = table.siblings(partition) else {
            return Err(Refusal::SiblingSplit {
                partition: partition.0,
            });
        };
        if self.merges.contains_key(&left) {
            return Ok(None);
        }
        for partition in [left, right] {
            let is_still = table.map.group(partition).is_some_and(is_still);
            if !is_still || self.splits.contains_key(&partition) {
                return Err(Refusal::PartitionChanging {
                    partition: partition.0,
                });
            }
        }
        if !table.are_together([left, right]) {
            return Err(Refusal::SiblingsApart {
                left: left.0,
                right: right.0,
            });
        }
        Ok(Some([left, right]))
    }

    /// Makes known that a partition and its sibling are to be merged.
    pub(crate) fn begin_merge(
        &mut self,
        name: &str,
        partition: PartitionId,
    ) -> Result<Applied, Refusal> {
        let siblings = self.check_merge(name, partition)?;
        let table = self.tables.get(name);
        let id = table.ok_or_else(|| crate::apply::unknown(name))?.id;
        let Some([left, right]) = siblings else {
            // It is what was asked for.
            return Ok(self.applied(id));
        };
        let into = PartitionId(self.next_partition);
        let exhausted = MapError::IdsExhausted {
            first: into,
            count: 1,
        };
        self.next_partition = into.0.checked_add(1).ok_or(exhausted)?;
        self.version = self.version.next();
        let merge = Merge {
            table: id,
            into,
            right,
            resting: None,
        };
        self.merges.insert(left, merge);
        Ok(self.applied(id))
    }

    /// Puts wholes into the maps, of which both halves are at rest.
    pub(crate) fn finish_merges(&mut self, ready: &[[Rest; 2]]) -> Applied {
        let mut stale = Vec::new();
        let before = self.version;
        for rests in ready {
            if let Err(reason) = self.finish_merge(rests) {
                stale.push(StaleAt {
                    partition: rests[0].partition,
                    reason,
                });
            } else if self.version == before {
                self.version = before.next();
            }
        }
        Applied {
            stale,
            ..self.applied(TableId(0))
        }
    }

    fn finish_merge(&mut self, rests: &[Rest; 2]) -> Result<(), Stale> {
        let [left, right] = rests.map(|it| it.partition);
        let merge = *self.merges.get(&left).ok_or(Stale::Unknown)?;
        let resting = merge.resting.ok_or(Stale::Unknown)?;
        let is_answer =
            |rest: &Rest| rest.table == merge.table && rest.begun_at == resting.begun_at;
        if merge.right != right || !rests.iter().all(is_answer) {
            return Err(Stale::Unknown);
        }
        let mut tables = self.tables.values_mut();
        let table = tables.find(|table| table.id == merge.table);
        let table = table.ok_or(Stale::Unknown)?;
        let mut formers = Vec::new();
        let mut lineage = 0;
        for (rest, view) in rests.iter().zip(resting.views) {
            let group = table.map.group(rest.partition).ok_or(Stale::Unknown)?;
            let is_of_now = rest.view == view && group.view == view;
            if !is_of_now {
                return Err(Stale::Base {
                    named: rest.view,
                    is: group.view,
                });
            }
            lineage = lineage.max(group.lineage);
            let map = table.map.partitions();
            let leaf = map.index_of(rest.partition);
            let leaf = leaf.and_then(|at| map.leaves().get(at));
            let prefix = leaf.ok_or(Stale::Unknown)?.prefix;
            formers.push((rest.partition, Former::new(merge.table, prefix, view)));
        }
        let done = Arc::make_mut(table).map.merge([left, right], merge.into);
        done.map_err(|_| Stale::Unknown)?;
        let [a, b] = resting.views;
        let [left_end, right_end] = rests.map(|it| it.last.1);
        let base = (a.max(b), left_end.max(right_end));
        self.merges.remove(&left);
        Arc::make_mut(&mut self.formers).extend(formers);
        let merged = rests.iter().map(|rest| {
            let it = Merged {
                into: merge.into,
                last: rest.last,
                base,
                lineage,
            };
            (rest.partition, it)
        });
        Arc::make_mut(&mut self.merged).extend(merged);
        Ok(())
    }

    /// Ends merges that a change has overtaken; lets siblings rest that one brick leads now.
    pub(crate) fn see_to_merges(&mut self) {
        let tables = &self.tables;
        let version = self.version;
        self.merges.retain(|left, merge| {
            let mut tables = tables.values();
            let table = tables.find(|table| table.id == merge.table);
            let groups = table.and_then(|table| {
                let (left, right) = (table.map.group(*left)?, table.map.group(merge.right)?);
                Some([left, right])
            });
            let Some([left, right]) = groups.filter(|[a, b]| has_same_members(a, b)) else {
                return false;
            };
            let are_still = is_still(left) && is_still(right);
            match merge.resting {
                Some(resting) => are_still && resting.views == [left.view, right.view],
                None => {
                    if are_still && left.primary == right.primary {
                        merge.resting = Some(Resting {
                            views: [left.view, right.view],
                            begun_at: version,
                        });
                    }
                    // Whoever comes to hold one of them has to be copied to first.
                    left.learners.is_empty() && right.learners.is_empty()
                }
            }
        });
    }
}

/// Nobody comes or goes.
fn is_still(group: &Group) -> bool {
    group.change.is_none() && group.learners.is_empty()
}

#[cfg(test)]
#[path = "merge_test.rs"]
mod merge_test;
