//! A partition becomes two: the intent, and the maps with the halves in its place.
//!
//! In: which partition (an operator, or the controller, by size); and then its primary's word that all of its
//! operations have committed and that it prepares no more. Out: an intent that every brick knows of; then two
//! new partitions with the same members, in the view after the parent's last, and what the parent was.
//!
//! Invariants (rule `splits and merges are bound to views`):
//! - An intent is bound to the view that it was made for. Whatever changes the members ends it, and the partition
//!   goes on undivided.
//! - The maps change by compare-and-set: the intent is the one that the primary answered, and its view is in effect.
//! - Ids are never used again, and what a parent partition held is remembered for as long as its table is there:
//!   records of it in a log belong to whichever partition has their keys now.
//!
//! Not here: how bricks take their partitions apart (`brick`), when to split (`control`).

use crate::parents::Parent;
use crate::{
    applied::Done,
    group::is_still,
    ids::Ids,
    parents::Parents,
    proposal::Stale,
    refusal::Refusal,
    table::TableEntry,
    tables::Tables,
    transitions::{Cause, Split, Transitions},
    version::CatalogVersion,
};
use brickyard_routing::Group;
use brickyard_types::{PartitionId, TableId, View};
use serde::{Deserialize, Serialize};

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

/// Makes known that a partition is to be split, in the state `next`.
pub(crate) fn begin_split(
    transitions: &mut Transitions,
    ids: &mut Ids,
    table: &TableEntry,
    partition: PartitionId,
    cause: Option<Cause>,
    next: CatalogVersion,
) -> Result<Done, Refusal> {
    table.check_online()?;
    let (leaf, group) = table.place_of(partition)?;
    let hasher = table.map.hasher().hasher();
    if leaf.prefix.depth() >= hasher.split_depth_max() {
        return Err(Refusal::SplitTooDeep {
            partition: partition.0,
            is_slot: hasher.follows_slots(),
        });
    }
    if transitions.split_of(partition).is_some() {
        // It is what was asked for.
        return Ok(Done::of_table(table.id, false));
    }
    if !is_still(group) || transitions.merge_of(partition).is_some() {
        return Err(Refusal::PartitionChanging {
            partition: partition.0,
        });
    }
    let first = ids.draw_partitions(2)?;
    let split = Split {
        table: table.id,
        view: group.view,
        halves: [first, PartitionId(first.0 + 1)],
        begun_at: next,
        cause,
    };
    transitions.begin_split(partition, split);
    Ok(Done::of_table(table.id, true))
}

/// Puts the halves into the maps.
pub(crate) fn finish_splits(
    tables: &mut Tables,
    transitions: &mut Transitions,
    parents: &mut Parents,
    ready: &[SplitReady],
) -> Done {
    Done::batch(ready.iter().map(|it| {
        let outcome = finish_split(tables, transitions, parents, it);
        (it.partition, outcome)
    }))
}

fn finish_split(
    tables: &mut Tables,
    transitions: &mut Transitions,
    parents: &mut Parents,
    ready: &SplitReady,
) -> Result<(), Stale> {
    let partition = ready.partition;
    let split = *transitions.split_of(partition).ok_or(Stale::Unknown)?;
    let table = tables.by_id(split.table).ok_or(Stale::Unknown)?;
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
    let prefix = table.leaf_of(partition).ok_or(Stale::Unknown)?.prefix;
    let parent = Parent::split(split.table, prefix, split.view, split.cause);
    let mut done = Ok(());
    tables.change(split.table, |table| {
        done = table.map.split(partition, split.halves);
    });
    done.map_err(|_| Stale::Unknown)?;
    transitions.end_split(partition);
    parents.insert(partition, parent);
    Ok(())
}

/// Ends splits that a change has overtaken: of partitions whose members change, and of a table that is gone.
pub(crate) fn end_overtaken_splits(transitions: &mut Transitions, tables: &Tables) {
    transitions.retain_splits(|partition, split| {
        let table = tables.by_id(split.table);
        let group = table.and_then(|table| table.map.group(partition));
        group.is_some_and(|group| is_as_it_was(group, split))
    });
}

fn is_as_it_was(group: &Group, split: &Split) -> bool {
    group.view == split.view && group.change.is_none()
}

#[cfg(test)]
#[path = "split_test.rs"]
mod split_test;
