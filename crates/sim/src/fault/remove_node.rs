//! A node is emptied and taken out for ever.

use super::kind::Kind;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "removal of a node",
    weight: 2,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    world.order(Order::Drain(node));
    world.order(Order::Demote(node));
    world.order(Order::Remove(node));
}
