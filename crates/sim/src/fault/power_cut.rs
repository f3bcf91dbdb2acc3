//! A machine loses its power: with the process goes what was not synced.

use super::kind::Kind;
use crate::clock::SECOND;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "power cut",
    weight: 6,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if !world.cluster.may_come_to(Harm::Unsynced, node) {
        return;
    }
    world.cluster.kill(node, true);
    world
        .cluster
        .restart_soon(node, random.between(1, 6) * SECOND);
}
