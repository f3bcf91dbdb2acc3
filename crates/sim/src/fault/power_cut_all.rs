//! All machines lose their power at once: only what was synced is left of anything.

use super::kind::Kind;
use crate::clock::SECOND;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "power cut of all",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    if world.cluster.ground.shape.loses(Harm::Unsynced) || !world.cluster.risks.rotten.is_empty() {
        return;
    }
    let longest = random.between(1, 5) * SECOND;
    for node in 0..world.cluster.machines.len() {
        world.cluster.kill(node, true);
        world.cluster.restart_soon(node, longest);
    }
}
