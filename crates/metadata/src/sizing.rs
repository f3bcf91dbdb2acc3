//! Tables have as many partitions as their bricks need: shares are as even after nodes have joined as in a new table.
//!
//! In: the leader's word that partitions are to be split, several at a time; an operator's that a table keeps what it has.
//! Out: splits under way; how deep a table's partitions should be at least.
//!
//! Invariants:
//! - A table whose number of partitions was chosen keeps it, until an operator says otherwise.
//! - How deep partitions should be is a function of the catalog: every node computes the same.
//! - What was split for its bricks is not merged as long as there are so many bricks.
//!
//! Not here: when partitions are split (`control`), how (`split`).

use crate::{
    applied::Done,
    ids::Ids,
    nodes::Nodes,
    proposal::Stale,
    refusal::Refusal,
    split::begin_split,
    table::TableEntry,
    tables::Tables,
    transitions::{Cause, Transitions},
    version::CatalogVersion,
};
use brickyard_routing::{Candidate, Hasher, default_partitions};
use brickyard_types::{PartitionId, TableId};
use serde::{Deserialize, Serialize};

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

/// How many bits the prefixes of a table's partitions should have at least; 0 where their number was chosen.
///
/// - Time: linear in the bricks.
pub(crate) fn depth_wanted(nodes: &Nodes, table: &TableEntry) -> u8 {
    if table.is_sized_by_bricks {
        wanted_depth(nodes.candidates())
    } else {
        0
    }
}

/// Lets a table have as many partitions as its bricks need, or as many as it has.
pub(crate) fn size_table(
    tables: &mut Tables,
    name: &str,
    by_bricks: bool,
) -> Result<Done, Refusal> {
    let table = tables.get(name)?;
    table.check_online()?;
    let (id, has_changed) = (table.id, table.is_sized_by_bricks != by_bricks);
    if has_changed {
        tables.change(id, |table| table.is_sized_by_bricks = by_bricks);
    }
    Ok(Done::of_table(id, has_changed))
}

/// Begins splits, in the state `next`. One that cannot begin any more does not hold up the others.
pub(crate) fn divide(
    transitions: &mut Transitions,
    ids: &mut Ids,
    tables: &Tables,
    divide: &Divide,
    next: CatalogVersion,
) -> Done {
    let Divide { cause, partitions } = divide;
    let mut all = Done::default();
    for (table, partition) in partitions {
        let table = tables.by_id(*table).ok_or(Stale::Unknown);
        let begun = table.and_then(|table| {
            begin_split(transitions, ids, table, *partition, Some(*cause), next)
                .map_err(|_| Stale::Unknown)
        });
        all = all.and(match begun {
            Ok(done) => Done::changed(done.has_changed),
            Err(stale) => Done::batch([(*partition, Err(stale))].into_iter()),
        });
    }
    all
}

fn wanted_depth(mut candidates: Vec<Candidate>) -> u8 {
    candidates.retain(|it| it.weight > 0);
    let by_weight = default_partitions(&candidates);
    for candidate in &mut candidates {
        candidate.weight = 1;
    }
    let most = default_partitions(&candidates).saturating_mul(FOR_WEIGHTS);
    let depth = by_weight.min(most).ilog2() as u8;
    depth.min(Hasher::Slot.split_depth_max())
}

#[cfg(test)]
#[path = "sizing_test.rs"]
mod sizing_test;
