//! What a node sends to another one takes a hundred times as long, or more.

use super::kind::{Kind, again, two};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "slow link",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let (from, to) = two(world, random);
    if stage > 0 {
        return world.cluster.heal(from, to);
    }
    let times = [20, 100, 500][random.index(3)];
    world.tell(|| format!("the way from node {from} to {to} takes {times} times as long"));
    world.cluster.network.slow(from, to, times);
    again(world, random.between(100, 5_000) * MILLISECOND, 1);
}
