//! A table is to be placed by another rule, on some nodes only, in partitions of another size; then on all again, in large ones.

use super::kind::{Kind, again};
use crate::clock::SECOND;
use crate::operator::orders::Order;
use crate::random::Random;
use crate::world::World;
use brickyard_types::Placement;

pub(super) const KIND: Kind = Kind {
    name: "another layout",
    weight: 4,
    act,
};

/// So small that what clients write is too much for one partition; or none is split.
const BYTES: [u64; 4] = [0, 200, 600, 2_000];

/// So large that what is there together is little: what was split is merged.
const PLENTY: u64 = 1 << 20;

fn act(world: &mut World, random: &mut Random, stage: u32) {
    let table = random.index(world.cluster.ground.shape.tables.len());
    let points = [0, 1, 3, 16][random.index(4)];
    let placement = match points {
        0 => Placement::Even,
        points => Placement::Ring { points },
    };
    let copies = u64::from(world.cluster.ground.shape.tables[table].attributes.replicas);
    let nodes = some_nodes(world.cluster.machines.len(), copies, random);
    let bytes = BYTES[random.index(4)];
    let (first, second) = (random.between(1, 5), random.between(3, 9));
    match stage {
        0 => {
            world.order(Order::Place(table, placement));
            world.order(Order::Confine(table, nodes));
            world.order(Order::Bound(table, Some(bytes)));
            again(world, first * SECOND, 1);
        }
        1 => {
            world.order(Order::Bound(table, Some(PLENTY)));
            again(world, second * SECOND, 2);
        }
        _ => {
            world.order(Order::Confine(table, 0));
            world.order(Order::Bound(table, None));
        }
    }
}

/// Enough nodes for the copies, in most cases.
fn some_nodes(count: usize, copies: u64, random: &mut Random) -> u8 {
    let all = (1 << count) - 1;
    let drawn = (random.below(all) + 1) as u8;
    let is_enough = u64::from(drawn.count_ones()) >= copies;
    if is_enough || random.one_in(4) {
        drawn
    } else {
        all as u8
    }
}
