//! Every process is killed at once, as by an operator or an orchestrator in a hurry.

use super::kind::Kind;
use crate::clock::SECOND;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "kill of all",
    weight: 2,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    if world.cluster.ground.shape.loses(Harm::Memory) || !world.cluster.risks.rotten.is_empty() {
        return;
    }
    let longest = random.between(1, 5) * SECOND;
    for node in 0..world.cluster.machines.len() {
        world.cluster.kill(node, false);
        world.cluster.restart_soon(node, longest);
    }
}
