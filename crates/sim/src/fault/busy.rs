//! The loops of a node have no time left, by what the leader is told: partitions that are used there are hot. They are led by
//! others, split, or get copies more, and that is undone.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "busy",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        world.cluster.machines[node].is_busy = false;
        return;
    }
    world.tell(|| format!("the bricks of node {node} are busy"));
    world.cluster.machines[node].is_busy = true;
    again(world, random.between(4_000, 15_000) * MILLISECOND, 1);
}
