//! Connections of a node break: what was on its way is lost, and both ends know.

use super::kind::Kind;
use crate::network::Place;
use crate::random::Random;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "broken connections",
    weight: 5,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    let odds = random.between(1, 4);
    let broken = world.cluster.network.at(Place::Node(node));
    world.tell(|| format!("connections of node {node} break"));
    for id in broken {
        if random.one_in(odds) {
            world
                .cluster
                .network
                .break_connection(&mut world.cluster.ground, id);
        }
    }
}
