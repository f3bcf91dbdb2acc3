//! A table goes offline, and a while later comes back; sometimes it goes again before that is done.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "offline",
    weight: 4,
    act,
};

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let table = random.index(world.cluster.ground.shape.tables.len());
    let away = random.between(200, 6_000) * MILLISECOND;
    let back = random.between(20, 400) * MILLISECOND;
    let is_twice = random.one_in(3);
    match stage {
        0 | 2 if !world.cluster.ground.stage.is_calm => {
            world.order(Order::TakeOffline(table));
            again(world, away, stage + 1);
        }
        1 => {
            world.order(Order::BringOnline(table));
            if is_twice {
                again(world, back, 2);
            }
        }
        _ => world.order(Order::BringOnline(table)),
    }
}
