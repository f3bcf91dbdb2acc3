//! A primary lets a member go that is well, or goes itself: who goes learns again.
//!
//! Bricks ask for that when a member does not vote, or their own log is damaged; here they do so for no reason.

use super::kind::Kind;
use crate::random::Random;
use crate::world::World;
use brickyard_brick::ControlRequest;
use brickyard_routing::Replica;
use brickyard_types::{PartitionId, View};

pub(super) const ANOTHER_PRIMARY: Kind = Kind {
    name: "another primary",
    weight: 3,
    act: |world, random, _| let_go(world, random, true),
};

pub(super) const A_MEMBER_LESS: Kind = Kind {
    name: "a member less",
    weight: 3,
    act: |world, random, _| let_go(world, random, false),
};

fn let_go(world: &mut World, random: &mut Random, is_primary: bool) {
    let found = draw(world, random, is_primary);
    let Some((partition, view, primary, leaves)) = found else {
        return;
    };
    let Some((node, brick)) = world.cluster.machines.replica_of(primary) else {
        return;
    };
    world.tell(|| format!("{leaves} is to leave view {view} of partition {partition}"));
    let request = ControlRequest::Evict {
        partition,
        view,
        backup: leaves,
        has_withdrawn: false,
    };
    world
        .cluster
        .control(node, |control| control.on_brick(brick, request));
}

/// Some partition of the run's tables in which somebody stays.
fn draw(
    world: &World,
    random: &mut Random,
    is_primary: bool,
) -> Option<(PartitionId, View, Replica, Replica)> {
    let catalog = world.cluster.checkers.latest.as_ref()?;
    let names = world.cluster.ground.shape.tables.iter().map(|it| &it.name);
    let tables = names.filter_map(|name| catalog.table(name));
    let groups: Vec<_> = tables.flat_map(|it| it.partitions()).collect();
    let (partition, group) = groups.get(random.index(groups.len()))?;
    let backups: Vec<Replica> = group.in_sync().filter(|it| *it != group.primary).collect();
    let backup = *backups.get(random.index(backups.len()))?;
    let leaves = if is_primary { group.primary } else { backup };
    Some((*partition, group.view, group.primary, leaves))
}
