//! Nodes come, and come back: registration. How they go is in `orders`.
//!
//! Invariants:
//! - A node keeps its number and gets another incarnation for each process.
//! - A life whose process may be running still is remembered as doubtful for as long as some group names it.

use crate::{
    applied::{Done, Registered},
    group::{next_view, replicas},
    ids::Ids,
    last_outcome::LastOutcomes,
    node::{Node, Registration},
    nodes::Nodes,
    refusal::Refusal,
    tables::Tables,
    version::CatalogVersion,
};
use brickyard_routing::{Group, NodeId, Replica};
use brickyard_types::{Durability, Incarnation, PartitionId};
use std::collections::BTreeSet;

/// Takes a node in, or takes note that it lives anew: in the state `next`.
pub(crate) fn register(
    nodes: &mut Nodes,
    ids: &mut Ids,
    tables: &mut Tables,
    outcomes: &mut LastOutcomes,
    registration: Registration,
    next: CatalogVersion,
) -> Result<Done, Refusal> {
    registration.check()?;
    let Some(known) = nodes.by_key(&registration.key) else {
        return take_in(nodes, ids, registration, next);
    };
    let registration = match nodes.orders(known.id) {
        Some(orders) => registration.altered(orders.alteration.clone()),
        None => registration,
    };
    if known.registration.bricks != registration.bricks {
        return Err(Refusal::BrickCount {
            node: known.id.0,
            have: known.registration.bricks,
            asked: registration.bricks,
        });
    }
    let id = known.id;
    if known.registration.run == registration.run {
        let known = known.clone();
        return Ok(repeat(nodes, &known, registration));
    }
    let incarnation = ids.draw_incarnation();
    begin_life(nodes, tables, id, incarnation, registration, next);
    outcomes.forget(id);
    if nodes.iter().len() == 1 {
        follow_alone(tables, id, incarnation);
    }
    Ok(done(id, incarnation, true))
}

fn done(node: NodeId, incarnation: Incarnation, has_changed: bool) -> Done {
    Done {
        registered: Some(Registered { node, incarnation }),
        ..Done::changed(has_changed)
    }
}

fn take_in(
    nodes: &mut Nodes,
    ids: &mut Ids,
    registration: Registration,
    next: CatalogVersion,
) -> Result<Done, Refusal> {
    let id = ids.draw_node()?;
    let incarnation = ids.draw_incarnation();
    nodes.insert(Node {
        id,
        incarnation,
        doubtful: Vec::new(),
        registered: next,
        registration,
    });
    Ok(done(id, incarnation, true))
}

/// The same process asked twice, having missed the answer.
fn repeat(nodes: &mut Nodes, known: &Node, registration: Registration) -> Done {
    let (id, incarnation) = (known.id, known.incarnation);
    let has_changed = known.registration != registration;
    if has_changed {
        nodes.change(id, |node| node.registration = registration);
    }
    done(id, incarnation, has_changed)
}

fn begin_life(
    nodes: &mut Nodes,
    tables: &Tables,
    id: NodeId,
    incarnation: Incarnation,
    registration: Registration,
    next: CatalogVersion,
) {
    let named = incarnations_of(tables, id);
    nodes.change(id, |node| {
        let former = node.incarnation;
        assert!(
            former < incarnation,
            "lives of node {id} follow one another"
        );
        // Rule `only the same machine proves death`: only the holder of the same lock shows that the former process
        // is gone.
        if !registration.machine.proves_dead(&node.registration.machine) {
            node.doubtful.push(former);
        }
        // What no group names cannot act on anything.
        node.doubtful.retain(|it| named.contains(it));
        node.incarnation = incarnation;
        node.registered = next;
        node.registration = registration;
    });
}

/// A cluster of one node that restarts: nobody else can hold or decide anything, so its groups follow
/// it at once into new views.
fn follow_alone(tables: &mut Tables, node: NodeId, incarnation: Incarnation) {
    tables.change_where(
        |_| true,
        |table| {
            let is_mine = |group: &Group| {
                let mut replicas = replicas(group);
                replicas.all(|replica| replica.member.node == node)
            };
            let is_memory = table.attributes.durability == Durability::Memory;
            let next = |group: &Group| Group {
                view: next_view(group),
                // Rule `lost memory begins a generation`: what was in memory alone is gone, and what begins is
                // another history.
                generation: group.generation + u32::from(is_memory),
                primary: Replica {
                    incarnation,
                    ..group.primary
                },
                backups: Vec::new(),
                learners: Vec::new(),
                change: None,
            };
            let changed: Vec<(PartitionId, Group)> = table
                .partitions()
                // One that is suspended is chosen for when its table comes back.
                .filter(|(partition, group)| is_mine(group) && !table.is_suspended(*partition))
                .map(|(partition, group)| (partition, next(group)))
                .collect();
            table.set_groups(changed);
        },
    );
}

/// The lives of a node that some group names.
fn incarnations_of(tables: &Tables, node: NodeId) -> BTreeSet<Incarnation> {
    let groups = tables.iter().flat_map(|table| table.map.groups());
    groups
        .flat_map(replicas)
        .filter(|replica| replica.member.node == node)
        .map(|replica| replica.incarnation)
        .collect()
}

#[cfg(test)]
#[path = "register_test.rs"]
mod register_test;
