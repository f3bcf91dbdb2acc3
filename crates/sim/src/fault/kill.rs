//! A process is killed: what it had written is there, what it had in memory is not.

use super::kind::Kind;
use crate::clock::SECOND;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "kill",
    weight: 8,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if !world.cluster.may_come_to(Harm::Memory, node) {
        return;
    }
    world.cluster.kill(node, false);
    world
        .cluster
        .restart_soon(node, random.between(1, 6) * SECOND);
}
