//! Tables go offline and come back: no brick serves them meanwhile, and what they hold is in the logs of their members.
//!
//! In: an operator's wish. Out: the table's [`TableStatus`], which every brick acts by; [`Refusal`]s that say what would have to
//! be otherwise.
//!
//! Invariants:
//! - A table goes offline whole: each partition has the copies that its table asks for, in sync, and nothing happens to it
//!   (with FORCE: fewer copies). Nothing changes about it until it comes back.
//! - Nobody serves a partition in the view in which it went: it is *suspended* until a newer view takes effect, on the ground
//!   that the logs were read again (rule `a restart cuts nothing`).
//! - What is said of a log is said of one return: a table that went offline again is asked anew.
//!
//! Not here: who may lead such a partition (`control`), what bricks free and read again (`brick`).

use crate::{
    applied::Done,
    nodes::Nodes,
    refusal::Refusal,
    table::{TableEntry, TableStatus},
    tables::Tables,
    transitions::Transitions,
    version::CatalogVersion,
};
use brickyard_routing::Group;
use brickyard_types::{Durability, PartitionId, View};
use std::collections::BTreeMap;

/// Frees a table's memory; with `force` also where it has fewer copies than it asks for.
pub(crate) fn take_offline(
    tables: &mut Tables,
    nodes: &Nodes,
    transitions: &Transitions,
    name: &str,
    force: bool,
) -> Result<Done, Refusal> {
    let table = tables.get(name)?;
    let id = table.id;
    if table.is_offline() {
        return Ok(Done::of_table(id, false));
    }
    if table.attributes.durability == Durability::Memory {
        let name = name.to_owned();
        return Err(Refusal::OfflineWithoutLog { name });
    }
    check_still(transitions, table)?;
    let short = short_partitions(nodes, table);
    if short > 0 && !force {
        return Err(Refusal::OfflineShort {
            name: name.to_owned(),
            short,
            replicas: table.attributes.replicas,
        });
    }
    tables.change(id, |table| {
        table.status = TableStatus::Offline;
        // Copies that have not caught up are no part of what comes back.
        let learning = table.partitions();
        let without: Vec<(PartitionId, Group)> = learning
            .filter(|(_, group)| !group.learners.is_empty())
            .map(|(partition, group)| {
                let group = Group {
                    learners: Vec::new(),
                    ..group.clone()
                };
                (partition, group)
            })
            .collect();
        table.set_groups(without);
    });
    Ok(Done::of_table(id, true))
}

/// Lets a table come back, in the state `next`.
pub(crate) fn bring_online(
    tables: &mut Tables,
    name: &str,
    next: CatalogVersion,
) -> Result<Done, Refusal> {
    let table = tables.get(name)?;
    let (id, is_offline) = (table.id, table.is_offline());
    if is_offline {
        let suspended = table.partitions();
        let status = TableStatus::Returning {
            since: next,
            suspended: suspended.map(|(it, group)| (it, group.view)).collect(),
        };
        tables.change(id, |table| table.status = status);
    }
    Ok(Done::of_table(id, is_offline))
}

/// That no view of a table is changing, and nothing of it is being split or merged.
fn check_still(transitions: &Transitions, table: &TableEntry) -> Result<(), Refusal> {
    let is_moving = |(partition, group): &(PartitionId, &Group)| {
        group.change.is_some() || transitions.has(*partition)
    };
    let mut partitions = table.partitions();
    match partitions.find(is_moving) {
        Some((partition, _)) => Err(Refusal::PartitionChanging {
            partition: partition.0,
        }),
        None => Ok(()),
    }
}

/// Partitions with fewer copies in sync than their table asks for, or with one whose node has restarted since.
fn short_partitions(nodes: &Nodes, table: &TableEntry) -> usize {
    let replicas = usize::from(table.attributes.replicas);
    let is_short = |(partition, group): &(PartitionId, &Group)| {
        let is_there = |replica: &_| table.is_suspended(*partition) || nodes.is_current(*replica);
        group.in_sync().filter(is_there).count() < replicas
    };
    table.partitions().filter(is_short).count()
}

/// Partitions in newer views are served again; a table whose last one is so is online.
pub(crate) fn end_returns(tables: &mut Tables) {
    tables.change_where(
        |table| still_suspended(table).is_some(),
        |table| {
            let left = still_suspended(table).unwrap_or_default();
            match &mut table.status {
                status if left.is_empty() => *status = TableStatus::Online,
                TableStatus::Returning { suspended, .. } => *suspended = left,
                TableStatus::Online | TableStatus::Offline => {}
            }
        },
    );
}

/// The partitions of a returning table that nobody serves yet, if they have become fewer.
fn still_suspended(table: &TableEntry) -> Option<BTreeMap<PartitionId, View>> {
    let TableStatus::Returning { suspended, .. } = &table.status else {
        return None;
    };
    let is_suspended = |(partition, view): &(&PartitionId, &View)| {
        let group = table.map.group(**partition);
        group.is_some_and(|group| group.view == **view)
    };
    if suspended.iter().all(|it| is_suspended(&it)) {
        return None;
    }
    let left = suspended.iter().filter(is_suspended);
    Some(left.map(|(partition, view)| (*partition, *view)).collect())
}

#[cfg(test)]
#[path = "offline_test.rs"]
mod offline_test;
