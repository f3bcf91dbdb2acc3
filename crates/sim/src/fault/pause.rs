//! A process stands still for a while, maybe in the middle of its loops' turns, and goes on as if nothing had been: its clocks
//! did not stop.

use super::kind::Kind;
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "pause",
    weight: 6,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    let longest = [100, 1_600, 2_500, 6_000][random.index(4)];
    let length = random.between(10, longest) * MILLISECOND;
    world.tell(|| format!("node {node} pauses for {} ms", length / MILLISECOND));
    let is_in_turn = random.one_in(2);
    let now = world.now();
    let machine = &mut world.cluster.machines[node];
    // One that begins within another does not end that: what the first has held up comes when that is over.
    machine.paused_until = machine.paused_until.max(now + length);
    let now = machine.clocks.now(now);
    for side in machine.process.iter_mut().flat_map(|it| &mut it.bricks) {
        side.began = is_in_turn.then_some(now);
    }
}
