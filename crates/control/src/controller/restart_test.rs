use crate::controller::testing::{World, first, ms, replica};
use crate::message::{LogSummary, ToNode};
use brickyard_metadata::Change;
use brickyard_types::{Durability, View};
use std::time::Duration;

/// All three of a group are gone; each comes back with a log that ends there.
fn world(durability: Durability) -> World {
    let mut world = World::with(3, 3, 1, |attributes| attributes.durability = durability);
    world.run(ms(3_000));
    for node in &mut world.nodes {
        node.is_up = false;
    }
    world.run(ms(2_000));
    assert_eq!(world.group().view, View(1));
    world
}

/// The node is back with a log that ends at (view, op).
fn back(world: &mut World, node: u32, last: (u32, u64), change: impl FnOnce(&mut LogSummary)) {
    let mut summary = world.summary(last);
    summary.durability = world.catalog.table("t").unwrap().attributes.durability;
    change(&mut summary);
    world.nodes[node as usize].summaries = vec![summary];
    world.restart(node);
    world.run(ms(1_000));
}

fn unsure(summary: &mut LogSummary) {
    summary.is_tail_sure = false;
}

/// Rule `a restart cuts nothing`.
#[test]
fn highest_log_wins_when_all_are_back() {
    let mut world = world(Durability::Log);
    back(&mut world, 0, (1, 9), unsure);
    back(&mut world, 1, (1, 12), unsure);
    assert_eq!(world.group().view, View(1), "the third may have more");
    assert!(world.is_settled());
    back(&mut world, 2, (1, 11), unsure);
    let group = world.group();
    assert_eq!((group.view, group.primary), (View(2), replica(1, 5)));
    assert_eq!((group.backups.len(), group.generation), (0, 1));
    // The others learn from it.
    world.run(ms(500));
    assert_eq!(world.group().learners.len(), 2);
}

/// Rule `a restart cuts nothing`: (view, op), and not op alone.
#[test]
fn later_view_beats_a_longer_log() {
    let mut world = world(Durability::Log);
    back(&mut world, 0, (1, 99), unsure);
    back(&mut world, 1, (2, 12), unsure);
    back(&mut world, 2, (2, 11), unsure);
    let group = world.group();
    assert_eq!(group.primary, replica(1, 5));
    assert_eq!(group.view, View(3), "above every view that a disk has seen");
}

/// Rule `a restart cuts nothing`.
#[test]
fn one_log_is_enough_if_it_cannot_have_lost_anything() {
    // Synced before it was acknowledged.
    let mut synced = world(Durability::Fsync);
    back(&mut synced, 2, (1, 9), unsure);
    assert_eq!(synced.group().primary, replica(2, 4));
    // Given to an operating system that has not stopped since.
    let mut kept = world(Durability::Log);
    back(&mut kept, 2, (1, 9), |_| ());
    assert_eq!(kept.group().primary, replica(2, 4));
    // Neither: wait for the others.
    let mut lost = world(Durability::Log);
    back(&mut lost, 2, (1, 9), unsure);
    lost.run(Duration::from_secs(30));
    assert_eq!(lost.group().view, View(1));
}

/// Rule `a lost log end is noted first`: what was cut may have been synced, and have rotted since.
#[test]
fn log_whose_end_was_cut_waits_for_the_others() {
    let cut = |summary: &mut LogSummary| {
        summary.is_tail_sure = false;
        summary.is_end_cut = true;
    };
    let mut world = world(Durability::Fsync);
    back(&mut world, 0, (1, 8), cut);
    world.run(Duration::from_secs(30));
    assert_eq!(world.group().view, View(1), "another one may have more");
    back(&mut world, 2, (1, 9), unsure);
    assert_eq!(world.group().primary, replica(2, 5));
}

/// Rule `stronger durability counts for the log`: a promise of today says nothing of records of yesterday.
#[test]
fn log_that_was_written_under_a_weaker_promise_is_not_enough() {
    let mut world = world(Durability::Fsync);
    back(&mut world, 2, (1, 9), |summary| {
        summary.durability = Durability::Log;
        summary.is_tail_sure = false;
    });
    assert_eq!(world.group().view, View(1));
}

/// Rules `a restart cuts nothing` and `log summaries begin at a baseline`.
#[test]
fn log_that_lacks_something_does_not_count() {
    let mut world = world(Durability::Log);
    back(&mut world, 0, (1, 99), |summary| {
        summary.is_complete = false
    });
    assert_eq!(world.group().view, View(1));
    back(&mut world, 1, (1, 5), unsure);
    assert_eq!(world.group().view, View(1));
    back(&mut world, 2, (1, 6), unsure);
    assert_eq!(world.group().primary, replica(2, 6));
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn log_with_nothing_has_all_that_the_first_history_began_with() {
    let nothing = |summary: &mut LogSummary| summary.generation = 0;
    let mut world = world(Durability::Fsync);
    back(&mut world, 1, (0, 0), nothing);
    assert_eq!(world.group().primary, replica(1, 4));
    // And whoever lost what was written loses to whoever did not.
    let mut world = self::world(Durability::Log);
    for (node, last) in [(0, (0, 0)), (1, (1, 3)), (2, (0, 0))] {
        back(&mut world, node, last, |summary| {
            unsure(summary);
            summary.generation = last.0;
        });
    }
    assert_eq!(world.group().primary, replica(1, 5));
}

/// Rule `forced recovery begins a generation`.
#[test]
fn log_of_another_history_does_not_count() {
    let mut world = world(Durability::Fsync);
    back(&mut world, 0, (1, 99), |summary| summary.generation = 2);
    assert_eq!(world.group().view, View(1));
}

/// Rule `a restart cuts nothing`: whoever lives on has everything, and is preferred to any log.
#[test]
fn member_that_lives_on_goes_on() {
    let mut world = World::with(3, 3, 1, |attributes| {
        attributes.durability = Durability::Fsync
    });
    world.run(ms(3_000));
    for node in 0..2 {
        let summary = world.summary((1, 9));
        world.nodes[node].summaries = vec![summary];
        world.restart(node as u32);
    }
    world.run(ms(1_000));
    assert_eq!(world.in_sync(), [first(2)]);
}

/// Rule `a primary accepts its view`: a view that was not in effect is not gone on from.
#[test]
fn members_of_the_last_effective_view_are_asked_and_not_those_of_a_proposed_one() {
    let mut world = World::with(3, 3, 1, |attributes| {
        attributes.durability = Durability::Fsync
    });
    world.run(ms(3_000));
    world.nodes[1].accepts_at = world.catalog.version();
    world.propose(&[first(1)]);
    for node in &mut world.nodes {
        node.is_up = false;
    }
    world.run(ms(2_000));
    // 0 is not of the proposed view, and its log is as good as any.
    back(&mut world, 0, (1, 9), |_| ());
    assert_eq!(world.group().primary, replica(0, 4));
}

#[test]
fn chosen_one_that_fails_again_is_chosen_again_in_its_next_life() {
    let mut world = world(Durability::Fsync);
    world.nodes[2].accepts_at = world.catalog.version();
    back(&mut world, 2, (1, 9), |_| ());
    assert_eq!(world.group().change.unwrap().primary, replica(2, 4));
    world.nodes[2].accepts_at = brickyard_metadata::CatalogVersion(u64::MAX);
    back(&mut world, 2, (1, 9), |_| ());
    assert_eq!(world.group().primary, replica(2, 5));
}

#[test]
fn node_that_was_removed_is_not_waited_for() {
    let mut world = world(Durability::Log);
    back(&mut world, 0, (1, 9), unsure);
    back(&mut world, 1, (1, 12), unsure);
    world.change(Change::RemoveNode {
        node: brickyard_routing::NodeId(2),
        force: true,
    });
    world.run(ms(1_000));
    assert_eq!(world.group().primary, replica(1, 5));
}

/// Rule `lost memory begins a generation`.
#[test]
fn memory_is_lost_when_all_who_had_it_have_restarted() {
    let mut world = world(Durability::Memory);
    let version = world.catalog.version();
    back(&mut world, 0, (1, 99), |summary| {
        summary.durability = Durability::Fsync
    });
    back(&mut world, 1, (1, 5), |_| ());
    world.run(Duration::from_secs(30));
    assert_eq!(
        world.group().view,
        View(1),
        "2 may come back with everything"
    );
    assert_eq!(world.proposed, []);
    assert!(world.catalog.version() > version);
    back(&mut world, 2, (1, 6), |_| ());
    let group = world.group();
    assert_eq!((group.view, group.generation), (View(2), 2));
    assert_eq!(group.backups, []);
}

/// Rule `lost memory begins a generation`: not reached is not lost.
#[test]
fn memory_of_a_member_that_comes_back_alive_is_not_lost() {
    let mut world = world(Durability::Memory);
    back(&mut world, 0, (1, 9), |_| ());
    back(&mut world, 1, (1, 9), |_| ());
    world.nodes[2].is_up = true;
    world.run(ms(1_000));
    let group = world.group();
    assert_eq!((world.in_sync(), group.generation), (vec![first(2)], 1));
}

#[test]
fn reports_are_asked_for_only_when_they_matter() {
    let mut world = World::new(4, 3, 1);
    world.run(ms(5_000));
    let asked = |world: &World| {
        let reports = world
            .sent
            .iter()
            .filter(|(_, it)| matches!(it, ToNode::Report(_)));
        reports.count()
    };
    assert_eq!(asked(&world), 0);
    let member = world.in_sync()[1].member.node.0;
    world.restart(member);
    world.run(ms(1_000));
    assert_eq!(asked(&world), 0, "it has its place, whatever it holds");
    // Somebody else is to have the copy.
    world.nodes[member as usize].is_up = false;
    world.run(Duration::from_secs(40));
    assert!(asked(&world) > 0);
}

/// What the first view of a restart is.
fn proposal(world: &World) -> brickyard_metadata::Proposal {
    let mut decided = world.proposed.iter().filter_map(|it| match it {
        Change::Decide(decisions) => decisions.proposals.first(),
        _ => None,
    });
    decided.next_back().expect("a proposal").clone()
}

/// Rule `log summaries begin at a baseline`: although none of them is sure of its end, there was nothing.
#[test]
fn logs_with_nothing_are_the_first_history_and_not_another_one() {
    let back_with = |generation| {
        let mut world = world(Durability::Log);
        for node in 0..3 {
            back(&mut world, node, (0, 0), |summary| {
                unsure(summary);
                summary.generation = generation;
            });
        }
        world
    };
    let world = back_with(0);
    assert_eq!(world.group().view, View(2));
    assert_eq!(proposal(&world).floor, View(0), "nothing was seen");
    assert_eq!(back_with(2).group().view, View(1), "not of this history");
}

#[test]
fn nobody_learns_in_the_view_of_a_restart() {
    let mut world = World::with(3, 3, 1, |it| it.durability = Durability::Fsync);
    world.run(ms(3_000));
    world.restart(2);
    world.run(ms(1_000));
    assert_eq!(world.group().learners, [replica(2, 4)]);
    for node in &mut world.nodes {
        node.is_up = false;
    }
    world.run(ms(2_500));
    back(&mut world, 0, (2, 9), unsure);
    let proposal = proposal(&world);
    assert_eq!(
        (proposal.primary, proposal.learners),
        (replica(0, 5), vec![])
    );
}
