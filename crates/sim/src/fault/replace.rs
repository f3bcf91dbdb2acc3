//! A node takes another one's place; the other one may be taken out for ever then.

use super::kind::{Kind, two};
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "succession",
    weight: 2,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let (old, other) = two(world, random);
    let last = world.cluster.machines.len() - 1;
    let new = if world.cluster.ground.shape.has_spare && old != last {
        last
    } else {
        other
    };
    world.order(Order::Replace(old, new));
    if random.one_in(3) {
        world.order(Order::Demote(old));
        world.order(Order::Remove(old));
    }
}
