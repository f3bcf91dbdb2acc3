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
    let node = random.index(world.machines.len());
    let room = (stage == 0).then(|| random.below(4 << 10));
    world.tell(|| match room {
        Some(room) => format!("the disk of node {node} has {room} bytes left"),
        None => format!("the disk of node {node} has room again"),
    });
    let machine = &world.machines[node];
    for disk in machine.bricks.iter().chain([&machine.disk]) {
        disk.fill(room);
    }
    if stage == 0 {
        again(world, random.between(100, 5_000) * MILLISECOND, 1);
    }
}
