//! A partition becomes two, and a while later two siblings become one.

use super::kind::{Kind, again};
use crate::clock::SECOND;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "merge",
    weight: 4,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let table = random.index(world.cluster.ground.shape.tables.len());
    if stage == 0 {
        world.order(Order::Split(table, random.next()));
        let delay = random.between(1, 5) * SECOND;
        return again(world, delay, 1);
    }
    world.order(Order::Merge(table, random.next()));
}
