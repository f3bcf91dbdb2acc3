//! What a node sends does not get to another one, which is heard all the same.

use super::kind::{Kind, again, two};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "cut one way",
    weight: 5,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let (from, to) = two(world, random);
    if stage > 0 {
        world.tell(|| format!("node {from} reaches {to} again"));
        return world.cluster.heal(from, to);
    }
    world.tell(|| format!("node {from} does not reach {to}"));
    world.cluster.network.cut(from, to);
    again(world, random.between(50, 6_000) * MILLISECOND, 1);
}
