//! Hot partitions: the load that bricks tell of, and copies beyond those that tables ask for.
//!
//! In: the leader's word that a partition is to have so many copies more. Out: how many copies each partition should have.
//!
//! Invariants:
//! - Few partitions have copies more (`EXTRAS_MAX`), and few copies each (`EXTRA_COPIES_MAX`).
//! - What is said of a partition ends with it: its halves, or the whole that it becomes a part of, begin without.
//!
//! Not here: when a partition is hot, and no longer (`control`); measuring (`brick`).

use crate::{
    applied::{Done, StaleAt},
    proposal::Stale,
    tables::Tables,
};
use brickyard_types::{PartitionId, TableId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// Partitions that are to have copies beyond those that their tables ask for, and how many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ExtraCopies {
    by_partition: BTreeMap<PartitionId, u8>,
}

impl ExtraCopies {
    pub(crate) fn of(&self, partition: PartitionId) -> u8 {
        let copies = self.by_partition.get(&partition);
        copies.copied().unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (PartitionId, u8)> {
        self.by_partition.iter().map(|(of, copies)| (*of, *copies))
    }

    /// Lets partitions have so many copies more. What cannot be any more does not hold up the rest.
    pub(crate) fn set(&mut self, tables: &Tables, extras: &[Extra]) -> Done {
        let before = self.by_partition.clone();
        let mut stale = Vec::new();
        for it in extras {
            let table = tables.by_id(it.table);
            let is_there = table.is_some_and(|table| table.map.group(it.partition).is_some());
            let is_new = !self.by_partition.contains_key(&it.partition);
            let is_one_too_many = is_new && self.by_partition.len() >= EXTRAS_MAX;
            if it.copies == 0 {
                self.by_partition.remove(&it.partition);
            } else if !is_there || is_one_too_many || it.copies > EXTRA_COPIES_MAX {
                stale.push(StaleAt {
                    partition: it.partition,
                    reason: Stale::Unknown,
                });
            } else {
                self.by_partition.insert(it.partition, it.copies);
            }
        }
        let count = self.by_partition.len();
        assert!(count <= EXTRAS_MAX, "{count} partitions have copies more");
        Done {
            stale,
            ..Done::changed(self.by_partition != before)
        }
    }

    /// Ends what was said of partitions that are there no more.
    pub(crate) fn end_overtaken(&mut self, tables: &Tables) {
        self.by_partition
            .retain(|partition, _| tables.has_partition(*partition));
    }

    /// What contradicts the invariants; for a catalog that was read.
    pub(crate) fn check(&self, tables: &Tables) -> Result<(), String> {
        for (partition, copies) in self.iter() {
            let is_sound = (1..=EXTRA_COPIES_MAX).contains(&copies);
            if !is_sound || !tables.has_partition(partition) {
                return Err(format!(
                    "partition {partition} has {copies} copies more, which cannot be"
                ));
            }
        }
        match self.by_partition.len() {
            ..=EXTRAS_MAX => Ok(()),
            count => Err(format!("{count} partitions have copies more")),
        }
    }
}

#[cfg(test)]
#[path = "extra_copies_test.rs"]
mod extra_copies_test;
