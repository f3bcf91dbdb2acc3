//! What goes wrong: a file a kind.
//!
//! In:  the dice of a plan. Out: something done to the world, now and maybe later (`kind::again`).
//!
//! A new kind is a file with a [`Kind`] and a line in [`KINDS`]. What it does it must leave to
//! [`World::calm_down`](crate::world::World) to undo as well: after the last fault everything is mended.

mod alter_layout;
mod break_connections;
mod busy;
mod control;
mod control_disk;
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
mod kind;
mod let_go;
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

use crate::random::Random;
use crate::world::World;
use kind::Kind;

/// All of them. Plans name them.
const KINDS: &[Kind] = &[
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
    control::NO_CONTROL,
    control::SLOW_CONTROL,
    control::HERMIT,
    control_disk::STUCK,
    control_disk::SLOW,
    control_disk::FULL,
    let_go::ANOTHER_PRIMARY,
    let_go::A_MEMBER_LESS,
];

/// Their names and weights.
pub(crate) fn weights() -> Vec<(&'static str, u64)> {
    KINDS.iter().map(|it| (it.name, it.weight)).collect()
}

/// Has a kind act.
pub(crate) fn act(world: &mut World, kind: &'static str, dice: u64, stage: u32) {
    let it = KINDS.iter().find(|it| it.name == kind);
    let it = it.expect("plans name kinds that there are");
    world.acting = (kind, dice);
    if stage == 0 {
        world.count(it.name);
        world.review_risks();
    }
    (it.act)(world, &mut Random::new(dice), stage);
}
