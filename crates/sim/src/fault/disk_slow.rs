//! Everything takes long on a node's disk.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "slow disk",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        world.cluster.machines[node].disks.slow_down(1);
        return;
    }
    let times = [10, 50, 200][random.index(3)];
    world.tell(|| format!("the disk of node {node} takes {times} times as long"));
    world.cluster.machines[node].disks.slow_down(times);
    again(world, random.between(100, 5_000) * MILLISECOND, 1);
}
