//! A node's disk is full, or nearly.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "full disk",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        world.tell(|| format!("the disk of node {node} has room again"));
        return world.cluster.machines[node].disks.make_room();
    }
    let room = random.below(4 << 10);
    world.tell(|| format!("the disk of node {node} has {room} bytes left"));
    world.cluster.machines[node].disks.fill(room);
    again(world, random.between(100, 5_000) * MILLISECOND, 1);
}
