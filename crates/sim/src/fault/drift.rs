//! A node's clock changes its rate, within what is allowed.

use super::kind::Kind;
use crate::clock::DRIFT_PPM_MAX;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "drift",
    weight: 2,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    let ppm = [-DRIFT_PPM_MAX, 0, DRIFT_PPM_MAX][random.index(3)];
    let now = world.now();
    world.tell(|| format!("the clock of node {node} is off by {ppm} ppm"));
    world.cluster.machines[node].clocks.drift(now, ppm);
}
