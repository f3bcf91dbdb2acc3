//! All nodes are told to stop, as when a cluster is shut down: none has anybody to hand over to for long.

use super::kind::{Kind, again};
use crate::process::STOP_TIMEOUT;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "planned stop of all",
    weight: 1,
    act,
};

fn act(world: &mut World, _random: &mut Random, stage: u32) {
    if stage > 0 {
        for node in 0..world.cluster.machines.len() {
            world.cluster.stop_in_order(node);
        }
        return;
    }
    if world.cluster.ground.shape.loses(Harm::Memory) || !world.cluster.risks.rotten.is_empty() {
        return;
    }
    world.tell(|| "all nodes are told to stop".to_owned());
    for machine in world.cluster.machines.iter_mut() {
        if let Some(process) = machine.process.as_mut().filter(|it| !it.bricks.is_empty()) {
            process.control.drain();
        }
    }
    again(world, STOP_TIMEOUT, 1);
}
