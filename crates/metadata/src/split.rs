//! A partition becomes two: the intent, and the maps with the halves in its place.
//!
//! In: which partition (an operator, or the controller, by size); and then its primary's word that all of its
//! operations have committed and that it prepares no more. Out: an intent that every brick knows of; then two
//! new partitions with the same members, in the view after the parent's last, and what the parent was.
//!
//! Invariants (PROTOCOL rule 31):
//! - An intent is bound to the view that it was made for. Whatever changes the members ends it, and the partition
//!   goes on undivided.
//! - The maps change by compare-and-set: the intent is the one that the primary answered, and its view is in effect.
//! - Ids are never used again, and what a former partition held is remembered for as long as its table is there:
//!   records of it in a log belong to whichever partition has their keys now.
//!
//! Not here: how bricks take their partitions apart (`brick`), when to split (`control`).

use crate::{
    catalog::{Catalog, CatalogVersion},
    change::{Applied, StaleAt},
    proposal::Stale,
    refusal::Refusal,
    sizing::Cause,
};
use brickyard_routing::{Group, MapError, Prefix, RoutingHash};
use brickyard_types::{PartitionId, TableId, View, limits::PARTITION_DEPTH_MAX};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The deepest partition: one slot. What is atomic over several keys asks for their slot to be in one partition, and
/// clients that know only slots find every key by themselves.
pub const SPLIT_DEPTH_MAX: u8 = 14;

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
}

/// The primary's answer: every operation of the view has committed, and none will follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitReady {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The view that it answers for.
    pub view: View,
    /// Which split it answers.
    pub begun_at: CatalogVersion,
}

/// A partition that was split or merged: what records of it in a log belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// The table.
    pub table: TableId,
    /// How many bits its prefix had.
    depth: u8,
    /// The first routing hash that it held.
    first: u64,
    /// Its last view: who was in sync in it holds all that it ever committed.
    pub view: View,
}

impl Former {
    pub(crate) const fn new(table: TableId, prefix: Prefix, view: View) -> Self {
        Self {
            table,
            depth: prefix.depth(),
            first: prefix.first().0,
            view,
        }
    }

    /// The routing hashes that it held.
    #[must_use]
    pub const fn prefix(&self) -> Prefix {
        Prefix::of(RoutingHash(self.first), self.depth)
    }

    /// Whether the fields can be those of a partition; for a catalog that was read.
    pub(crate) const fn is_sound(&self) -> bool {
        self.depth < PARTITION_DEPTH_MAX && self.prefix().first().0 == self.first
    }
}

impl Catalog {
    /// The split of a partition that is under way.
    #[must_use]
    pub fn split_of(&self, partition: PartitionId) -> Option<&Split> {
        self.splits.get(&partition)
    }

    /// All splits that are under way.
    pub fn splits(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Split)> {
        self.splits.iter().map(|(partition, it)| (*partition, it))
    }

    /// What a partition was before it was split or merged; `None` if it was neither.
    #[must_use]
    pub fn former(&self, partition: PartitionId) -> Option<&Former> {
        self.formers.get(&partition)
    }

    /// All partitions that were split or merged, of all tables.
    pub fn formers(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Former)> {
        self.formers.iter().map(|(partition, it)| (*partition, it))
    }

    /// Makes known that a partition is to be split.
    pub(crate) fn begin_split(
        &mut self,
        name: &str,
        partition: PartitionId,
        cause: Option<Cause>,
    ) -> Result<Applied, Refusal> {
        let table = self
            .tables
            .get(name)
            .ok_or_else(|| crate::apply::unknown(name))?;
        let id = table.id;
        self.check_online(table)?;
        let (leaf, group) = table.place_of(partition)?;
        if leaf.prefix.depth() >= SPLIT_DEPTH_MAX {
            return Err(Refusal::SplitTooDeep {
                partition: partition.0,
            });
        }
        if self.splits.contains_key(&partition) {
            // It is what was asked for.
            return Ok(self.applied(id));
        }
        let is_merged = self.merge_of(partition).is_some();
        if group.change.is_some() || !group.learners.is_empty() || is_merged {
            return Err(Refusal::PartitionChanging {
                partition: partition.0,
            });
        }
        let view = group.view;
        let first = PartitionId(self.next_partition);
        let exhausted = MapError::IdsExhausted { first, count: 2 };
        let next = first.0.checked_add(2).ok_or(exhausted)?;
        self.next_partition = next;
        self.version = self.version.next();
        let split = Split {
            table: id,
            view,
            halves: [first, PartitionId(first.0 + 1)],
            begun_at: self.version,
        };
        self.splits.insert(partition, split);
        let (has_grown, is_hot) = (cause == Some(Cause::Size), cause == Some(Cause::Heat));
        self.note_cause(partition, has_grown, is_hot);
        Ok(self.applied(id))
    }

    /// Puts the halves into the maps.
    pub(crate) fn finish_splits(&mut self, ready: &[SplitReady]) -> Applied {
        let mut stale = Vec::new();
        let before = self.version;
        for it in ready {
            if let Err(reason) = self.finish_split(it) {
                stale.push(StaleAt {
                    partition: it.partition,
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

    fn finish_split(&mut self, ready: &SplitReady) -> Result<(), Stale> {
        let partition = ready.partition;
        let split = *self.splits.get(&partition).ok_or(Stale::Unknown)?;
        let mut tables = self.tables.values_mut();
        let table = tables.find(|table| table.id == split.table);
        let table = table.ok_or(Stale::Unknown)?;
        let group = table.map.group(partition).ok_or(Stale::Unknown)?;
        let is_of_now = split.view == group.view && ready.view == group.view;
        if !is_of_now {
            return Err(Stale::Base {
                named: ready.view,
                is: group.view,
            });
        }
        if ready.table != split.table || ready.begun_at != split.begun_at {
            return Err(Stale::Unknown);
        }
        if let Some(change) = &group.change {
            return Err(Stale::Pending {
                named: None,
                is: Some(change.view),
            });
        }
        let map = table.map.partitions();
        let leaf = map.index_of(partition).and_then(|at| map.leaves().get(at));
        let prefix = leaf.ok_or(Stale::Unknown)?.prefix;
        let former = Former::new(split.table, prefix, split.view);
        let done = Arc::make_mut(table).map.split(partition, split.halves);
        done.map_err(|_| Stale::Unknown)?;
        self.splits.remove(&partition);
        Arc::make_mut(&mut self.formers).insert(partition, former);
        Ok(())
    }

    /// Ends what a change has overtaken: splits of partitions whose members change, and all that was of a table that
    /// is gone.
    pub(crate) fn end_overtaken_splits(&mut self) {
        if !self.splits.is_empty() {
            let tables = &self.tables;
            self.splits.retain(|partition, split| {
                let mut tables = tables.values();
                let table = tables.find(|table| table.id == split.table);
                let group = table.and_then(|table| table.map.group(*partition));
                group.is_some_and(|group| is_as_it_was(group, split))
            });
        }
    }

    /// Forgets the former partitions of a table that was dropped.
    pub(crate) fn forget_formers(&mut self, table: TableId) {
        if self.formers.values().any(|former| former.table == table) {
            Arc::make_mut(&mut self.formers).retain(|_, former| former.table != table);
            let formers = &self.formers;
            if self.merged.keys().any(|it| !formers.contains_key(it)) {
                Arc::make_mut(&mut self.merged).retain(|it, _| formers.contains_key(it));
            }
            for marked in [&mut self.grown, &mut self.heated] {
                if marked.iter().any(|it| !formers.contains_key(it)) {
                    let splits = &self.splits;
                    let is_there =
                        |it: &PartitionId| formers.contains_key(it) || splits.contains_key(it);
                    Arc::make_mut(marked).retain(is_there);
                }
            }
        }
    }
}

fn is_as_it_was(group: &Group, split: &Split) -> bool {
    group.view == split.view && group.change.is_none()
}

#[cfg(test)]
#[path = "split_test.rs"]
mod split_test;
