//! No partition is to move for a while.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "pause of moves",
    weight: 2,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    if stage > 0 {
        return world.order(Order::ResumeMoves);
    }
    world.order(Order::PauseMoves);
    again(world, random.between(100, 5_000) * MILLISECOND, 1);
}
