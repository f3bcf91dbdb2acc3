//! A node is to be emptied, while everything else goes on; or is not to be after all.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "drain",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        return world.order(Order::Weigh(node, 100));
    }
    world.order(Order::Drain(node));
    if random.one_in(2) {
        again(world, random.between(100, 6_000) * MILLISECOND, 1);
    }
}
