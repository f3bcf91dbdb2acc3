//! A node is told to stop, as by SIGTERM: it hands over first, and goes when that is done or takes too long.

use super::kind::{Kind, again};
use crate::process::STOP_TIMEOUT;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "planned stop",
    weight: 5,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        return world.cluster.stop_in_order(node);
    }
    let process = world.cluster.machines[node].process.as_ref();
    if process.is_none_or(|it| it.bricks.is_empty() || it.control.is_draining()) {
        return;
    }
    crate::check::note_stop(&mut world.cluster, node);
    let Some(process) = &mut world.cluster.machines[node].process else {
        return;
    };
    process.control.drain();
    world.tell(|| format!("node {node} is told to stop"));
    again(world, STOP_TIMEOUT, 1);
}
