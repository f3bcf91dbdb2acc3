//! Every partition ends with its wanted replicas, and they act so.

use crate::process::Process;
use crate::world::World;
use brickyard_brick::Role;
use brickyard_metadata::Catalog;
use brickyard_routing::{NodeId, strategy};
use brickyard_types::{Medium, PartitionId, TableId};
use std::collections::BTreeSet;

/// What is not as it should be; `None` if everything is.
pub(super) fn missing(world: &World) -> Option<String> {
    let Some(catalog) = &world.cluster.checkers.latest else {
        return Some("there is no cluster".to_owned());
    };
    if let Some(missing) = missing_nodes(world) {
        return Some(missing);
    }
    let kept = kept_from_stopping(world);
    for table in catalog.tables() {
        // Nobody gives such a node anything any more, and it may still have something.
        let holders = catalog.holders(&table.layout).count();
        let held_up = catalog
            .holders(&table.layout)
            .filter(|it| kept.contains(&it.id));
        let held_up = held_up.count();
        if !table.is_online() {
            let status = table.status.word();
            return Some(format!("table {} is {status}", table.name));
        }
        for (partition, group) in table.partitions() {
            let wanted = catalog.copies_wanted(table, partition).min(holders);
            let least = catalog
                .copies_wanted(table, partition)
                .min(holders - held_up);
            let have = group.in_sync().count();
            // What was in the damaged part of the one log there is, and not in memory, nobody can copy.
            let is_in_memory = table.attributes.medium == Medium::Ram;
            let is_rotten = |replica| {
                let found = world.cluster.machines.replica_of(replica);
                found.is_some_and(|(node, _)| world.cluster.risks.rotten.contains(&node))
            };
            if have == 1 && !is_in_memory && is_rotten(group.primary) {
                continue;
            }
            if !(least..=wanted).contains(&have)
                || group.change.is_some()
                || !group.learners.is_empty()
            {
                return Some(format!(
                    "partition {partition} has {have} of {wanted} replicas in sync, in {group:?}"
                ));
            }
            // Of a table with one replica only the catalog says what is where.
            for replica in group.in_sync().filter(|_| wanted > 1) {
                let role = if replica == group.primary {
                    Role::Primary
                } else {
                    Role::Backup
                };
                let status = world.cluster.machines.status_of(replica, partition);
                let is_so = status
                    .as_ref()
                    .is_some_and(|it| it.view == group.view && it.role == role && it.serves_reads);
                if !is_so {
                    return Some(format!(
                        "{replica} should be {role:?} of partition {partition} in view {} and is {status:?}",
                        group.view
                    ));
                }
            }
        }
    }
    missing_moves(world, catalog, &kept)
}

/// Nodes that were told to stop, and that the simulator does not let go: with them would go what only their rotten logs have.
fn kept_from_stopping(world: &World) -> BTreeSet<NodeId> {
    let is_told = |node: &usize| {
        let process = world.cluster.machines[*node].process.as_ref();
        process.is_some_and(|it| it.control.is_draining())
    };
    let rotten = world.cluster.risks.rotten.iter().copied().filter(is_told);
    rotten
        .filter_map(|node| Some(world.cluster.member_of(node)?.id))
        .collect()
}

/// Who does not run, or runs though it was removed.
fn missing_nodes(world: &World) -> Option<String> {
    for (node, machine) in world.cluster.machines.iter().enumerate() {
        let is_member = world.cluster.member_of(node).is_some();
        let process = machine.process.as_ref();
        if !is_member && machine.is_unwanted {
            if process.is_some_and(knows_the_cluster) {
                return Some(format!("node {node} was removed, and goes on"));
            }
        } else if !is_member {
            return Some(format!("node {node} is no member"));
        } else if process.is_none_or(|it| it.bricks.is_empty()) {
            return Some(format!("node {node} does not run"));
        }
    }
    None
}

/// Who was removed before it had a catalog knows nobody to ask but those whom it was told of, and waits for one that leads:
/// it serves nothing.
fn knows_the_cluster(process: &Process) -> bool {
    process.member().is_some_and(|it| it.catalog().is_some())
}

/// What an operator wants and has not come about: orders, and copies that are not where they should be.
fn missing_moves(world: &World, catalog: &Catalog, kept: &BTreeSet<NodeId>) -> Option<String> {
    // What is on a node that has been told to stop is moved, or it stays there, and no plan says which.
    if !kept.is_empty() {
        return None;
    }
    // What nobody can copy does not move either.
    if world.cluster.risks.rotten.is_empty() && !world.operator.is_done() {
        return Some("an operator waits".to_owned());
    }
    let moves = catalog.plan(&BTreeSet::new()).moves(catalog);
    let is_stuck = |partition: PartitionId| {
        let mut tables = catalog
            .tables()
            .filter(|it| it.attributes.medium == Medium::Disk);
        !world.cluster.risks.rotten.is_empty()
            && tables.any(|it| it.partitions().any(|(id, _)| id == partition))
    };
    // Of these the plan says who leads, too; of others any member may, as long as all have their shares.
    let is_led = |table: TableId| {
        let table = catalog.table_by_id(table);
        table.is_some_and(|it| !strategy(it.layout.placement).evens_primaries())
    };
    let mut moves = moves
        .iter()
        .filter(|it| !it.is_hand_over || is_led(it.table));
    let missing = moves.find(|it| !is_stuck(it.partition))?;
    Some(format!("what is planned has not come about: {missing:?}"))
}
