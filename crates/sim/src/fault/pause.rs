//! A process stands still for a while, and goes on as if nothing had been: its clocks did not stop.

use super::Kind;
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "pause",
    weight: 6,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.machines.len());
    let longest = [100, 1_600, 2_500, 6_000][random.index(4)];
    let length = random.between(10, longest) * MILLISECOND;
    world.tell(|| format!("node {node} pauses for {} ms", length / MILLISECOND));
    world.machines[node].paused_until = world.now + length;
}
