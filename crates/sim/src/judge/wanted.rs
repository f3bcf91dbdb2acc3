//! Every partition ends with its wanted replicas, and they act so.

use crate::world::World;
use brickyard_brick::Role;
use brickyard_types::Medium;

/// What is not as it should be; `None` if everything is.
pub(super) fn missing(world: &World) -> Option<String> {
    let Some(catalog) = &world.judges.latest else {
        return Some("there is no cluster".to_owned());
    };
    let nodes = world.machines.len();
    if catalog.nodes().len() < nodes {
        return Some(format!(
            "{} of {nodes} nodes are members",
            catalog.nodes().len()
        ));
    }
    for (node, machine) in world.machines.iter().enumerate() {
        let process = machine.process.as_ref();
        if process.is_none_or(|it| it.bricks.is_empty()) {
            return Some(format!("node {node} does not run"));
        }
    }
    for table in catalog.tables() {
        let wanted = usize::from(table.attributes.replicas).min(nodes);
        for (partition, group) in table.partitions() {
            let have = group.in_sync().count();
            // What was in the damaged part of the one log there is, and not in memory, nobody can copy.
            let is_in_memory = table.attributes.medium == Medium::Ram;
            let is_rotten = |seat| {
                let found = world.seat_of(seat);
                found.is_some_and(|(node, _)| world.rotten.contains(&node))
            };
            if have == 1 && !is_in_memory && is_rotten(group.primary) {
                continue;
            }
            if have != wanted || group.change.is_some() || !group.learners.is_empty() {
                return Some(format!(
                    "partition {partition} has {have} of {wanted} replicas in sync, in {group:?}"
                ));
            }
            // Of a table with one replica only the catalog says what is where.
            for seat in group.in_sync().filter(|_| wanted > 1) {
                let role = if seat == group.primary {
                    Role::Primary
                } else {
                    Role::Backup
                };
                let standing = world.standing_of(seat, partition);
                let is_so = standing
                    .as_ref()
                    .is_some_and(|it| it.view == group.view && it.role == role && it.serves_reads);
                if !is_so {
                    return Some(format!(
                        "{seat} should be {role:?} of partition {partition} in view {} and is {standing:?}",
                        group.view
                    ));
                }
            }
        }
    }
    None
}
