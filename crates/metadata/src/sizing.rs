//! Tables have as many partitions as their bricks need: shares are as even after nodes have joined as in a new table.
//!
//! In: the leader's word that partitions are to be split, several at a time; an operator's that a table keeps what it has.
//! Out: splits under way; how deep a table's partitions should be at least.
//!
//! Invariants:
//! - A table whose number of partitions was chosen keeps it, until an operator says otherwise.
//! - How deep partitions should be is a function of the catalog: whoever has it comes to the same.
//! - What was split for its bricks is not merged as long as there are so many bricks.
//!
//! Not here: when partitions are split (`control`), how (`split`).

use crate::{
    catalog::{Catalog, Table},
    change::{Applied, StaleAt},
    proposal::Stale,
    refusal::Refusal,
    split::SPLIT_DEPTH_MAX,
};
use brickyard_routing::{Candidate, Group, default_partitions};
use brickyard_types::{PartitionId, TableId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How many times as many partitions weights may ask for as equal ones would: a weight that was mistyped should not cut
/// every table into slots.
const FOR_WEIGHTS: u32 = 4;

/// Partitions that are to be split by themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divide {
    /// Why.
    pub cause: Cause,
    /// Which, and of which tables.
    pub partitions: Vec<(TableId, PartitionId)>,
}

/// Why partitions are split by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// There are too few of them for the bricks.
    Bricks,
    /// It has grown; what shrinks again is merged by itself.
    Size,
    /// It takes much of its brick's time; what cools down is merged by itself.
    Heat,
}

impl Catalog {
    /// Whether a table has as many partitions as its bricks need; otherwise as many as were asked for.
    #[must_use]
    pub fn is_sized(&self, table: TableId) -> bool {
        self.sized.contains(&table)
    }

    /// How many bits the prefixes of a table's partitions should have at least; 0 where their number was chosen.
    ///
    /// - Time: linear in the bricks.
    #[must_use]
    pub fn depth_wanted(&self, table: TableId) -> u8 {
        if self.is_sized(table) {
            wanted_depth(self.candidates())
        } else {
            0
        }
    }

    /// Lets a table have as many partitions as its bricks need, or as many as it has.
    pub(crate) fn size_table(&mut self, name: &str, by_bricks: bool) -> Result<Applied, Refusal> {
        let table = self.tables.get(name);
        let table = table.ok_or_else(|| crate::apply::unknown(name))?;
        self.check_online(table)?;
        let id = table.id;
        if self.is_sized(id) != by_bricks {
            let sized = Arc::make_mut(&mut self.sized);
            if by_bricks {
                sized.insert(id);
            } else {
                sized.remove(&id);
            }
            self.version = self.version.next();
        }
        Ok(self.applied(id))
    }

    /// Begins splits. One that cannot begin any more does not hold up the others.
    pub(crate) fn divide(&mut self, divide: &Divide) -> Applied {
        let before = self.version;
        let mut stale = Vec::new();
        for (table, partition) in &divide.partitions {
            let name = self.table_by_id(*table).map(|table| table.name.clone());
            let begun = name.map(|name| self.begin_split(&name, *partition, Some(divide.cause)));
            if !matches!(begun, Some(Ok(_))) {
                stale.push(StaleAt {
                    partition: *partition,
                    reason: Stale::Unknown,
                });
            }
        }
        if self.version > before {
            // It was one change.
            self.version = before.next();
            for (_, partition) in &divide.partitions {
                if let Some(split) = self.splits.get_mut(partition)
                    && split.begun_at > before
                {
                    split.begun_at = self.version;
                }
            }
        }
        Applied {
            stale,
            ..self.applied(TableId(0))
        }
    }
}

impl Table {
    /// Its partitions with prefixes of fewer bits than that.
    pub fn shallower(&self, depth: u8) -> impl Iterator<Item = (PartitionId, &Group)> {
        let leaves = self.map.partitions().leaves().iter();
        let all = leaves.zip(self.map.groups());
        all.filter(move |(leaf, _)| leaf.prefix.depth() < depth)
            .map(|(leaf, group)| (leaf.partition, group))
    }
}

fn wanted_depth(mut candidates: Vec<Candidate>) -> u8 {
    candidates.retain(|it| it.weight > 0);
    let by_weight = default_partitions(&candidates);
    for candidate in &mut candidates {
        candidate.weight = 1;
    }
    let most = default_partitions(&candidates).saturating_mul(FOR_WEIGHTS);
    let depth = by_weight.min(most).ilog2() as u8;
    depth.min(SPLIT_DEPTH_MAX)
}

#[cfg(test)]
#[path = "sizing_test.rs"]
mod sizing_test;
