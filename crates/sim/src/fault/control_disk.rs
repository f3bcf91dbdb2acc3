//! The control log's disk hangs, is slow or full, and nothing else is: mostly that of the node that leads, which others hear as ever.

use super::kind::{Kind, again};
use crate::clock::{MILLISECOND, SECOND};
use crate::disks::ControlDisk;
use crate::process::Process;
use crate::random::Random;
use crate::world::World;

pub(super) const STUCK: Kind = Kind {
    name: "stuck control disk",
    weight: 2,
    act: stuck,
};

pub(super) const SLOW: Kind = Kind {
    name: "slow control disk",
    weight: 2,
    act: slow,
};

pub(super) const FULL: Kind = Kind {
    name: "full control disk",
    weight: 2,
    act: full,
};

fn stuck(world: &mut World, random: &mut Random, stage: u32) {
    let length = length(random);
    let until = world.now() + length;
    act(world, random, stage, length, ControlDisk::Stuck(until));
}

fn slow(world: &mut World, random: &mut Random, stage: u32) {
    let length = length(random);
    let times = [50, 250, 1_000][random.index(3)];
    act(world, random, stage, length, ControlDisk::Slow(times));
}

fn full(world: &mut World, random: &mut Random, stage: u32) {
    let length = length(random);
    act(world, random, stage, length, ControlDisk::Full);
}

/// A leader that waits for its disk is found out within this.
fn length(random: &mut Random) -> u64 {
    random.between(500, 12_000) * MILLISECOND
}

fn act(world: &mut World, random: &mut Random, stage: u32, length: u64, what: ControlDisk) {
    // Of both stages the dice are the same, and who leads need not be.
    let (any, is_leaders) = (
        random.index(world.cluster.machines.len()),
        !random.one_in(4),
    );
    if stage > 0 {
        let node = stage as usize - 1;
        world.tell(|| format!("the control log's disk of node {node} is well again"));
        return world.cluster.machines[node]
            .disks
            .set_control(ControlDisk::Well);
    }
    let leads = |process: &Process| process.member().is_some_and(|it| it.is_leading());
    let mut machines = world.cluster.machines.iter();
    let leader = machines.position(|it| it.process.as_ref().is_some_and(leads));
    let node = leader.filter(|_| is_leaders).unwrap_or(any);
    world.tell(|| {
        format!(
            "the control log's disk of node {node}: {what:?}, for {} s",
            length as f64 / SECOND as f64
        )
    });
    world.cluster.machines[node].disks.set_control(what);
    again(world, length, node as u32 + 1);
}
