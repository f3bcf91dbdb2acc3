//! The leader of the control plane is killed, with whatever else it was to anybody.

use super::kind::Kind;
use crate::clock::SECOND;
use crate::process::Process;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "kill of the leader",
    weight: 4,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let leads = |process: &Process| process.member().is_some_and(|it| it.is_leading());
    let leader = world
        .cluster
        .machines
        .iter()
        .position(|it| it.process.as_ref().is_some_and(leads));
    let Some(node) = leader else { return };
    if !world.cluster.may_come_to(Harm::Memory, node) {
        return;
    }
    world.cluster.kill(node, false);
    world
        .cluster
        .restart_soon(node, random.between(1, 6) * SECOND);
}
