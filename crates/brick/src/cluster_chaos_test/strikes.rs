//! One thing that goes wrong, or right again.

use super::disk::Mood;
use super::world::World;

/// What that is. Some stand in the list more than once, and are that much likelier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strike {
    Kill,
    PowerCut,
    KillAll,
    Restart,
    Cut,
    Mend,
    DiskTrouble,
    MendDisks,
    LoseControl,
    FindControl,
    Pause,
    HandOver,
    DemoteOrRoll,
    BreakLink,
    DemoteToLearner,
    Mute,
    LateMaps,
    LateGrants,
    PauseInTurn,
    BreakLinks,
    Hermit,
    DropLearner,
    LateWishes,
}

/// All of them; new ones come at the end.
pub(super) const STRIKES: [Strike; 29] = [
    Strike::Kill,
    Strike::PowerCut,
    Strike::KillAll,
    Strike::Restart,
    Strike::Restart,
    Strike::Restart,
    Strike::Restart,
    Strike::Cut,
    Strike::Mend,
    Strike::Mend,
    Strike::DiskTrouble,
    Strike::MendDisks,
    Strike::MendDisks,
    Strike::LoseControl,
    Strike::FindControl,
    Strike::FindControl,
    Strike::Pause,
    Strike::HandOver,
    Strike::DemoteOrRoll,
    Strike::BreakLink,
    Strike::DemoteToLearner,
    Strike::Mute,
    Strike::LateMaps,
    Strike::LateGrants,
    Strike::PauseInTurn,
    Strike::BreakLinks,
    Strike::Hermit,
    Strike::DropLearner,
    Strike::LateWishes,
];

/// How many of them the editions without scenarios know.
pub(super) const KNOWN: [usize; 3] = [20, 24, 26];

/// Deals a blow, or ends one.
pub(super) fn strike(world: &mut World) {
    let count = world.nodes.len();
    let at = world.below(count);
    match world.draw_strike() {
        Strike::Kill if world.may_fall(at) => {
            world.tell(format!("node {at} is killed"));
            world.kill(at, false);
        }
        Strike::PowerCut if world.may_fall(at) => {
            world.tell(format!("node {at} loses power"));
            world.kill(at, true);
        }
        Strike::KillAll if world.scenario.is_some() || world.one_in(6) => kill_all(world),
        Strike::Kill | Strike::PowerCut | Strike::KillAll if world.scenario.is_some() => {}
        Strike::Restart => restart_one(world),
        Strike::Cut => {
            let other = (at + 1) % count;
            world.tell(format!("nodes {at} and {other} are cut"));
            world.cut.insert((at.min(other), at.max(other)));
        }
        Strike::Mend => {
            world.cut.clear();
            world.mute.clear();
        }
        Strike::DiskTrouble => {
            let moods = [Mood::Slow, Mood::Stuck, Mood::Full];
            let mood = moods[world.below(3)];
            world.tell(format!("log of node {at} is {mood:?}"));
            world.nodes[at].disk.mood = mood;
        }
        Strike::MendDisks => {
            for node in &mut world.nodes {
                node.disk.mood = Mood::Well;
            }
        }
        Strike::LoseControl => {
            world.tell(format!("node {at} loses the control plane"));
            world.control.set_cut(at, true);
        }
        Strike::FindControl => (0..count).for_each(|at| world.control.set_cut(at, false)),
        Strike::BreakLink => world.break_link(),
        Strike::Mute => {
            let other = (at + 1 + world.below(count - 1)) % count;
            world.tell(format!("nothing of node {at} gets to node {other}"));
            world.mute.insert((at, other));
        }
        Strike::BreakLinks | Strike::Kill | Strike::PowerCut | Strike::KillAll => {
            let links = world.break_links(at);
            world.tell(format!("node {at} loses {links} streams"));
        }
        Strike::DemoteOrRoll if world.one_in(2) => change_views(world, Strike::DemoteOrRoll),
        Strike::DemoteOrRoll => world.roll(at),
        views @ (Strike::HandOver | Strike::DemoteToLearner | Strike::DropLearner) => {
            change_views(world, views);
        }
        delay => hold_up(world, at, delay),
    }
}

fn kill_all(world: &mut World) {
    let is_power_cut = world.one_in(3);
    world.tell(format!("all nodes are killed, power cut {is_power_cut}"));
    for at in 0..world.nodes.len() {
        if world.is_up(at) {
            world.kill(at, is_power_cut);
        }
    }
}

fn restart_one(world: &mut World) {
    if let Some(at) = (0..world.nodes.len()).find(|at| !world.is_up(*at)) {
        world.tell(format!("node {at} restarts"));
        world.restart(at);
        world.spread();
    }
}

/// An operator, or the control plane, wants other members.
fn change_views(world: &mut World, strike: Strike) {
    let dice = world.below(1 << 20);
    let note = match strike {
        Strike::HandOver => world.control.hand_over(dice),
        Strike::DemoteToLearner => world.control.demote_to_learner(dice),
        Strike::DropLearner => world.control.drop_learner(dice),
        _ => world.control.demote(dice),
    };
    if let Some(note) = note {
        world.tell(note);
        world.spread();
    }
}

/// Something comes late.
fn hold_up(world: &mut World, at: usize, strike: Strike) {
    match strike {
        Strike::Pause => {
            let pause = world.below(60) as u32;
            world.tell(format!("node {at} pauses for {pause} turns"));
            world.nodes[at].pause = pause;
        }
        Strike::LateMaps => {
            let turns = world.below(80) as u32;
            world.tell(format!("node {at} hears of new maps {turns} turns late"));
            world.nodes[at].maps_late = turns;
        }
        Strike::LateGrants => {
            let turns = world.below(30) as u32;
            world.tell(format!("grants get to node {at} {turns} turns late"));
            world.nodes[at].grants_late = turns;
        }
        Strike::LateWishes => {
            let steps = world.below(60) as u32;
            world.tell(format!("what primaries ask for comes {steps} steps late"));
            world.control.hold_wishes(steps);
        }
        Strike::Hermit => {
            // It hears of nobody any more, and what was read from its disk comes when it is too late.
            let turns = 40 + world.below(60) as u32;
            world.tell(format!("node {at} is alone, and reads for {turns} turns"));
            world.control.set_cut(at, true);
            world.nodes[at].disk.hold_reads(turns);
        }
        _ => {
            let pause = 1 + world.below(60) as u32;
            world.tell(format!("node {at} pauses in a turn for {pause} turns"));
            world.pause_in_turn(at, pause);
        }
    }
}
