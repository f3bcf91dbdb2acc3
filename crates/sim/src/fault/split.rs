//! A partition becomes two, while it is used.

use super::kind::Kind;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "split",
    weight: 4,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let table = random.index(world.cluster.ground.shape.tables.len());
    world.order(Order::Split(table, random.next()));
}
