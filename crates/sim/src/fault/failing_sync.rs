//! Syncs fail on a node's disk, and with them goes what they should have written.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "failing sync",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    let is_failing = stage == 0;
    if is_failing && !world.cluster.may_come_to(Harm::Unsynced, node) {
        return;
    }
    world.cluster.machines[node].disks.fail_syncs(is_failing);
    if is_failing {
        world.tell(|| format!("syncs fail on node {node}"));
        let life = world.cluster.machines[node].life;
        world.cluster.risks.at_risk.insert(node, life);
        again(world, random.between(50, 3_000) * MILLISECOND, 1);
    }
}
