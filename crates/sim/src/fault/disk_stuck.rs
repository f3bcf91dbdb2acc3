//! A node's disk does nothing for a while.

use super::kind::Kind;
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "stuck disk",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    let length = random.between(50, 6_000) * MILLISECOND;
    world.tell(|| {
        format!(
            "the disk of node {node} hangs for {} ms",
            length / MILLISECOND
        )
    });
    let until = world.now() + length;
    world.cluster.machines[node].disks.hold(until);
}
