//! A process dies between two of its effects: a message sent and the next one not.

use super::kind::Kind;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "kill at an effect",
    weight: 8,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if !world.cluster.may_come_to(Harm::Memory, node) {
        return;
    }
    if world.cluster.machines[node].is_up() {
        world.cluster.machines[node].dies_after = Some(random.below(60) as u32);
    }
}
