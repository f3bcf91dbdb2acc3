//! Two nodes do not reach each other for a while.

use super::kind::{Kind, again, two};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "cut",
    weight: 5,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let (one, other) = two(world, random);
    if stage > 0 {
        world.tell(|| format!("nodes {one} and {other} reach each other again"));
        world.cluster.heal(one, other);
        return world.cluster.heal(other, one);
    }
    world.tell(|| format!("nodes {one} and {other} are cut from each other"));
    world.cluster.network.cut(one, other);
    world.cluster.network.cut(other, one);
    again(world, random.between(50, 6_000) * MILLISECOND, 1);
}
