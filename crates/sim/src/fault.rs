//! What goes wrong: a file a kind.
//!
//! In:  the dice of a plan. Out: something done to the world, now and maybe later ([`again`]).
//!
//! A new kind is a file with a [`Kind`] and a line in [`KINDS`]. What it does it must leave to
//! [`World::calm_down`](crate::world::World) to undo as well: after the last fault everything is mended.

mod alter_layout;
mod break_connections;
mod busy;
mod cut;
mod cut_one_way;
mod disk_full;
mod disk_slow;
mod disk_stuck;
mod drain;
mod drift;
mod failing_sync;
mod isolate;
mod kill;
mod kill_all;
mod kill_at_effect;
mod kill_leader;
mod merge;
mod offline;
mod pause;
mod pause_moves;
mod planned_stop;
mod planned_stop_of_all;
mod power_cut;
mod power_cut_all;
mod remove_node;
mod replace;
mod roles;
mod rot;
mod slow_link;
mod split;
mod weigh;

use crate::clock::Nanos;
use crate::random::Random;
use crate::world::{What, World};

/// A way in which something goes wrong.
pub(crate) struct Kind {
    /// For people.
    pub(crate) name: &'static str,
    /// How often it is drawn, compared with the others.
    pub(crate) weight: u64,
    /// Does it: the dice say to whom and how much, and are the same at every stage; stage 0 is the first.
    pub(crate) act: fn(&mut World, &mut Random, u32),
}

/// All of them. Plans name them by their place: a new one goes to the end.
pub(crate) const KINDS: &[Kind] = &[
    kill::KIND,
    power_cut::KIND,
    kill_at_effect::KIND,
    kill_all::KIND,
    power_cut_all::KIND,
    kill_leader::KIND,
    pause::KIND,
    cut::KIND,
    cut_one_way::KIND,
    isolate::KIND,
    slow_link::KIND,
    break_connections::KIND,
    disk_slow::KIND,
    disk_stuck::KIND,
    disk_full::KIND,
    failing_sync::KIND,
    rot::KIND,
    drift::KIND,
    planned_stop::KIND,
    planned_stop_of_all::KIND,
    drain::KIND,
    remove_node::KIND,
    weigh::KIND,
    replace::KIND,
    pause_moves::KIND,
    split::KIND,
    merge::KIND,
    busy::KIND,
    alter_layout::KIND,
    roles::KIND,
    offline::KIND,
];

/// The place of the kind that nobody has to notice.
pub(crate) const PLANNED_STOP: usize = 18;

/// Has a kind act.
pub(crate) fn act(world: &mut World, kind: usize, dice: u64, stage: u32) {
    let it = &KINDS[kind];
    world.acting = kind;
    world.acting_dice = dice;
    if stage == 0 {
        world.count(it.name);
        world.review_risks();
    }
    (it.act)(world, &mut Random::new(dice), stage);
}

/// The kind that acts now will act again.
fn again(world: &mut World, delay: Nanos, stage: u32) {
    let (kind, dice) = (world.acting, world.acting_dice);
    world.after(delay, What::Again(kind, dice, stage));
}

/// Two different nodes.
fn two(world: &World, random: &mut Random) -> (usize, usize) {
    let count = world.machines.len();
    let from = random.index(count);
    let to = (from + 1 + random.index(count - 1)) % count;
    (from, to)
}
