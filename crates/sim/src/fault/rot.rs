//! A bit of a log turns over on the disk. It shows when it is read: by the cleaner, or by the next start.

use super::kind::Kind;
use crate::random::Random;
use crate::shape::Harm;
use crate::world::World;

pub(super) const KIND: Kind = Kind {
    name: "rot",
    weight: 3,
    act,
};

fn act(world: &mut World, random: &mut Random, _stage: u32) {
    let node = random.index(world.cluster.machines.len());
    // Its disk does not count as one that survives.
    if !world.cluster.may_come_to(Harm::Synced, node) {
        return;
    }
    if let Some((file, offset)) = world.cluster.machines[node].disks.rot(random) {
        let life = world.cluster.machines[node].life;
        world.cluster.risks.at_risk.insert(node, life);
        world.cluster.risks.rotten.insert(node);
        world.tell(|| format!("a bit of {file} of node {node} turns over at {offset}"));
    }
}
