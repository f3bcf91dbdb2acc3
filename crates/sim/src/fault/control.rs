//! A node hears and says nothing of the control plane for a while, or late: maps, leases, what its bricks ask for. Its bricks
//! still reach those of others.

use super::kind::{Kind, again};
use crate::clock::MILLISECOND;
use crate::random::Random;
use crate::world::World;

pub(super) const NO_CONTROL: Kind = Kind {
    name: "no control",
    weight: 2,
    act: no_control,
};

pub(super) const SLOW_CONTROL: Kind = Kind {
    name: "slow control",
    weight: 2,
    act: slow_control,
};

/// What was read from its disk comes when it is too late.
pub(super) const HERMIT: Kind = Kind {
    name: "hermit",
    weight: 1,
    act: hermit,
};

fn hermit(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    let length = random.between(500, 3_000) * MILLISECOND;
    if stage > 0 {
        return world.cluster.heal_control(node);
    }
    world.tell(|| format!("node {node} is cut from the control plane, and its disk hangs"));
    world.cluster.network.cut_control(node);
    let until = world.now() + length;
    world.cluster.machines[node].disks.hold(until);
    again(world, length + 200 * MILLISECOND, 1);
}

fn no_control(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        return world.cluster.heal_control(node);
    }
    world.tell(|| format!("node {node} is cut from the control plane"));
    world.cluster.network.cut_control(node);
    again(world, random.between(100, 4_000) * MILLISECOND, 1);
}

fn slow_control(world: &mut World, random: &mut Random, stage: u32) {
    let node = random.index(world.cluster.machines.len());
    if stage > 0 {
        return world.cluster.heal_control(node);
    }
    let times = [50, 200, 1_000][random.index(3)];
    world.tell(|| format!("the control plane of node {node} takes {times} times as long"));
    world.cluster.network.slow_control(node, times);
    again(world, random.between(200, 4_000) * MILLISECOND, 1);
}
