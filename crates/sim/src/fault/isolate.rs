//! A node is cut from all others; clients still reach it.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "isolation",
    weight: 5,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let count = world.cluster.machines.len();
    let node = random.index(count);
    let others: Vec<usize> = (0..count).filter(|other| *other != node).collect();
    if stage > 0 {
        world.tell(|| format!("node {node} is among the others again"));
        for other in others {
            world.cluster.heal(node, other);
            world.cluster.heal(other, node);
        }
        return;
    }
    world.tell(|| format!("node {node} is cut from all others"));
    for other in others {
        world.cluster.network.cut(node, other);
        world.cluster.network.cut(other, node);
    }
    again(world, random.between(200, 8_000) * MILLISECOND, 1);
}
