//! Hot partitions: copies beyond those that their tables ask for, and splits that load was the reason of.
//!
//! In: the leader's word that a partition is to have so many copies more; what bricks say of their load. Out: how many
//! copies each partition should have; siblings that came from a hot partition.
//!
//! Invariants:
//! - Few partitions have copies more (`EXTRAS_MAX`), and few copies each (`EXTRA_COPIES_MAX`).
//! - What is said of a partition ends with it: its halves, or the whole that it becomes a part of, begin without.
//!
//! Not here: when a partition is hot, and no longer (`control`); measuring (`brick`).

use crate::{
    catalog::{Catalog, Table},
    change::{Applied, StaleAt},
    proposal::Stale,
};
use brickyard_types::{PartitionId, TableId};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, sync::Arc};

/// Partitions that may have copies beyond those that their tables ask for.
pub const EXTRAS_MAX: usize = 256;

/// Copies more that one partition may have.
pub const EXTRA_COPIES_MAX: u8 = 7;

/// What a brick says of its load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrickLoad {
    /// How much of a core's time it is busy, in thousandths.
    pub busy: u16,
    /// The partitions that take most of that; of the others none takes much.
    pub partitions: Vec<PartitionLoad>,
}

/// What a partition takes on one of its bricks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionLoad {
    /// The partition.
    pub partition: PartitionId,
    /// How much of a core's time it takes there, in thousandths.
    pub load: u16,
    /// How many of its operations there are writes, in thousandths.
    pub writes: u16,
    /// Most of them are about one slot: a split would leave them together.
    pub is_narrow: bool,
}

/// How many copies a partition is to have beyond those that its table asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extra {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// So many; 0 gives them back.
    pub copies: u8,
}

impl Catalog {
    /// How many copies a partition is to have beyond those that its table asks for.
    #[must_use]
    pub fn extra(&self, partition: PartitionId) -> u8 {
        self.extras.get(&partition).copied().unwrap_or_default()
    }

    /// All partitions that are to have copies more, and how many.
    pub fn extras(&self) -> impl ExactSizeIterator<Item = (PartitionId, u8)> {
        self.extras.iter().map(|(of, copies)| (*of, *copies))
    }

    /// How many copies a partition is to have, if there are nodes enough.
    #[must_use]
    pub fn copies_wanted(&self, table: &Table, partition: PartitionId) -> usize {
        usize::from(table.attributes.replicas) + usize::from(self.extra(partition))
    }

    /// Siblings of a table, the left one first, that came from a partition which was split because it was hot.
    #[must_use]
    pub fn heated_siblings(&self, table: TableId) -> Vec<[PartitionId; 2]> {
        self.siblings_from(table, &self.heated)
    }

    /// Lets partitions have so many copies more. What cannot be any more does not hold up the rest.
    pub(crate) fn set_extras(&mut self, extras: &[Extra]) -> Applied {
        let mut stale = Vec::new();
        let before = self.extras.clone();
        for it in extras {
            let table = self.table_by_id(it.table);
            let is_there = table.is_some_and(|table| table.map.group(it.partition).is_some());
            let is_new = !self.extras.contains_key(&it.partition);
            let is_one_too_many = is_new && self.extras.len() >= EXTRAS_MAX;
            if it.copies == 0 {
                self.extras.remove(&it.partition);
            } else if !is_there || is_one_too_many || it.copies > EXTRA_COPIES_MAX {
                stale.push(StaleAt {
                    partition: it.partition,
                    reason: Stale::Unknown,
                });
            } else {
                self.extras.insert(it.partition, it.copies);
            }
        }
        if self.extras != before {
            self.version = self.version.next();
        }
        Applied {
            stale,
            ..self.applied(TableId(0))
        }
    }

    /// Ends what was said of partitions that are there no more.
    pub(crate) fn end_overtaken_extras(&mut self) {
        if !self.extras.is_empty() {
            let tables = &self.tables;
            self.extras.retain(|partition, _| {
                let mut tables = tables.values();
                tables.any(|table| table.map.group(*partition).is_some())
            });
        }
    }

    /// Notes why a partition is split: what came of it may be merged again when that is over.
    pub(crate) fn note_cause(&mut self, partition: PartitionId, has_grown: bool, is_hot: bool) {
        let note = |set: &mut Arc<BTreeSet<PartitionId>>, is_so: bool| {
            if is_so != set.contains(&partition) {
                let set = Arc::make_mut(set);
                if is_so {
                    set.insert(partition);
                } else {
                    set.remove(&partition);
                }
            }
        };
        note(&mut self.grown, has_grown);
        note(&mut self.heated, is_hot);
    }
}

#[cfg(test)]
#[path = "heat_test.rs"]
mod heat_test;
