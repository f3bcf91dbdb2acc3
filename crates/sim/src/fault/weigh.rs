//! A node is to have another share of everything.

use super::kind::Kind;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "another weight",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    let weight = [1, 30, 100, 400][random.index(4)];
    world.order(Order::Weigh(node, weight));
}
