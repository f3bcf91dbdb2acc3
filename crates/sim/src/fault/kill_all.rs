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
    if world.shape.loses(Harm::Memory) || !world.risks.rotten.is_empty() {
        return;
    }
    let longest = random.between(1, 5) * SECOND;
    for node in 0..world.machines.len() {
        world.kill(node, false);
        world.restart_soon(node, longest);
    }
}
