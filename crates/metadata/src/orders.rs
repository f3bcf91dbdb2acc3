//! What operators say of nodes: what they are used for, which are to be emptied, replaced, or are gone for ever.
//!
//! In: alterations of a node. Out: its registration as it counts from now on; [`Refusal`]s that name what would
//! be missing.
//!
//! Invariants:
//! - What an operator said holds until it is said otherwise, also when the node starts anew with another
//!   configuration.
//! - Nothing that only one node has is given up unless that was asked for, after it was told.
//! - No order leaves a table without any node that may hold something.
//!
//! Not here: emptying a node, copy by copy (`control`).

use crate::{
    applied::Done,
    group::replicas,
    last_outcome::LastOutcomes,
    node::{NodeAlteration, Orders},
    nodes::Nodes,
    refusal::Refusal,
    table::TableEntry,
    tables::Tables,
};
use brickyard_routing::{NodeId, Replica};

/// Partitions that a refusal names one by one.
const NAMED_MAX: usize = 8;

/// Changes what a node is used for.
pub(crate) fn alter_node(
    nodes: &mut Nodes,
    tables: &Tables,
    id: NodeId,
    alteration: NodeAlteration,
) -> Result<Done, Refusal> {
    let node = nodes.get(id)?;
    let registration = node.registration.clone().altered(alteration.clone());
    registration.check()?;
    let weight = registration.weight();
    if weight == 0 && nodes.is_last(id) {
        return Err(Refusal::LastNode { node: id.0 });
    }
    if weight == 0 && node.weight() > 0 {
        check_sets_without(nodes, tables, id)?;
    }
    // It would vote on, for want of another one, and could not be removed.
    let may_another_vote = || {
        let mut others = nodes.iter().filter(|it| it.id != id);
        others.any(|it| it.registration.roles.control)
    };
    let is_demoted = node.registration.roles.control && !registration.roles.control;
    if is_demoted && !may_another_vote() {
        return Err(Refusal::LastVoter { node: id.0 });
    }
    let before = nodes.orders(id).cloned().unwrap_or_default();
    let former = before.alteration.clone();
    let orders = Orders {
        alteration: NodeAlteration {
            weight: alteration.weight.or(former.weight),
            zone: alteration.zone.or(former.zone),
            roles: alteration.roles.or(former.roles),
        },
        ..before.clone()
    };
    let has_changed = registration != node.registration || orders != before;
    if has_changed {
        nodes.change(id, |node| node.registration = registration);
        nodes.set_orders(id, orders);
    }
    Ok(Done::changed(has_changed))
}

fn with_weight(weight: u32) -> NodeAlteration {
    NodeAlteration {
        weight: Some(weight),
        ..NodeAlteration::default()
    }
}

/// Lets a node be emptied; with `force` also where tables then have fewer copies than they ask for.
pub(crate) fn drain_node(
    nodes: &mut Nodes,
    tables: &Tables,
    id: NodeId,
    force: bool,
) -> Result<Done, Refusal> {
    if nodes.node(id).is_some() && nodes.is_last(id) {
        return Err(Refusal::LastNode { node: id.0 });
    }
    check_enough_without(nodes, tables, id, force)?;
    alter_node(nodes, tables, id, with_weight(0))
}

/// Lets one node have what another one has, and as much of all tables.
pub(crate) fn replace_node(
    nodes: &mut Nodes,
    tables: &mut Tables,
    old: NodeId,
    new: NodeId,
) -> Result<Done, Refusal> {
    let (was, will) = (nodes.get(old)?, nodes.get(new)?);
    if old == new {
        return Err(Refusal::OwnSuccessor { node: old.0 });
    }
    if was.registration.bricks != will.registration.bricks {
        return Err(Refusal::UnlikeSuccessor {
            old: old.0,
            new: new.0,
            have: will.registration.bricks,
            want: was.registration.bricks,
        });
    }
    match nodes.successor(old) {
        Some(successor) if successor == new => return Ok(Done::changed(false)),
        Some(other) => {
            return Err(Refusal::SecondSuccessor {
                old: old.0,
                other: other.0,
            });
        }
        None => {}
    }
    let weight = was.weight();
    if weight == 0 {
        return Err(Refusal::EmptySuccession { node: old.0 });
    }
    // First the one that is to hold things: there has to be one at any time.
    let gains = alter_node(nodes, tables, new, with_weight(weight))?;
    tables.join_sets_of(old, new);
    let loses = alter_node(nodes, tables, old, with_weight(0))?;
    let orders = Orders {
        replaces: Some(old),
        ..nodes.orders(new).cloned().unwrap_or_default()
    };
    nodes.set_orders(new, orders);
    Ok(gains.and(loses))
}

/// Takes a node out for ever.
pub(crate) fn remove_node(
    nodes: &mut Nodes,
    tables: &mut Tables,
    outcomes: &mut LastOutcomes,
    id: NodeId,
    force: bool,
) -> Result<Done, Refusal> {
    check_removal(nodes, tables, id, force)?;
    tables.leave_sets(id);
    nodes.remove(id);
    outcomes.forget(id);
    Ok(Done::changed(true))
}

/// Whether a node may be taken out: no partition names it, or what only it has may be lost.
pub(crate) fn check_removal(
    nodes: &Nodes,
    tables: &Tables,
    id: NodeId,
    force: bool,
) -> Result<(), Refusal> {
    nodes.get(id)?;
    if nodes.is_last(id) {
        return Err(Refusal::LastNode { node: id.0 });
    }
    check_sets_without(nodes, tables, id)?;
    check_unnamed(tables, id, force)?;
    check_enough_without(nodes, tables, id, force)
}

/// That every table has a node left which may hold something, without one of them.
fn check_sets_without(nodes: &Nodes, tables: &Tables, id: NodeId) -> Result<(), Refusal> {
    let is_last = |table: &&TableEntry| {
        let has_set = table.layout.nodes.contains(&id);
        has_set && nodes.holders(&table.layout).all(|node| node.id == id)
    };
    match tables.iter().find(is_last) {
        Some(table) => Err(Refusal::LastOfSet {
            node: id.0,
            table: table.name.clone(),
        }),
        None => Ok(()),
    }
}

/// That no partition names a node, or that what only it has may be lost.
fn check_unnamed(tables: &Tables, id: NodeId, force: bool) -> Result<(), Refusal> {
    let is_its = |replica: Replica| replica.member.node == id;
    let (mut partitions, mut sole, mut lost) = (0, 0, Vec::new());
    for table in tables.iter() {
        let mut only_there = Vec::new();
        for (partition, group) in table.partitions() {
            partitions += usize::from(replicas(group).any(is_its));
            if group.in_sync().all(is_its) {
                only_there.push(partition.to_string());
            }
        }
        let count = only_there.len();
        if count > 0 {
            sole += count;
            let more = if count > NAMED_MAX { ", ..." } else { "" };
            only_there.truncate(NAMED_MAX);
            let named = only_there.join(", ");
            lost.push(format!("{count} of '{}' ({named}{more})", table.name));
        }
    }
    if partitions == 0 || force {
        return Ok(());
    }
    Err(Refusal::NodeInUse {
        node: id.0,
        partitions,
        sole,
        lost,
    })
}

/// That every table can have the copies that it asks for without a node.
fn check_enough_without(
    nodes: &Nodes,
    tables: &Tables,
    id: NodeId,
    force: bool,
) -> Result<(), Refusal> {
    let holds = nodes.node(id).is_some_and(|node| node.weight() > 0);
    let left = |table: &TableEntry| {
        let holders = nodes.holders(&table.layout);
        holders.filter(|node| node.id != id).count()
    };
    let is_short = |table: &&TableEntry| {
        let replicas = usize::from(table.attributes.replicas);
        table.layout.admits(id) && replicas > left(table)
    };
    match tables.iter().find(is_short) {
        Some(table) if holds && !force => Err(Refusal::FewNodes {
            node: id.0,
            left: left(table),
            table: table.name.clone(),
            is_set: !table.layout.nodes.is_empty(),
            replicas: table.attributes.replicas,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "orders_test.rs"]
mod orders_test;
