//! A node is to be used for other things: to hold nothing, or not to vote; and for everything again.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::operator::orders::{ALL_ROLES, Order};
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "other roles",
    weight: 3,
    act,
};

const ROLES: [&str; 4] = [
    "gateway",
    "control,gateway",
    "storage,gateway",
    "storage,control",
];

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        return world.order(Order::Employ(node, ALL_ROLES));
    }
    world.order(Order::Employ(node, ROLES[random.index(4)]));
    again(world, random.between(100, 8_000) * MILLISECOND, 1);
}
