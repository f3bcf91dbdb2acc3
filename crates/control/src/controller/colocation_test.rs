use crate::controller::testing::{World, first, ms};
use crate::message::{RestAsk, SmallReport, SplitAsk};
use brickyard_metadata::{
    Cause, Change, Divide, Ground, NewLearners, Proposal, Rest, Small, SplitReady,
};
use brickyard_routing::{Group, Member, NodeId, Replica};
use brickyard_types::{BrickId, Op, PartitionId, View};
use std::collections::BTreeSet;
use std::time::Duration;

/// Four nodes, and a table of four partitions with two copies; the first one has grown and is two now, which share no node.
fn world() -> (World, [PartitionId; 2]) {
    world_of(Cause::Size)
}

fn world_of(cause: Cause) -> (World, [PartitionId; 2]) {
    let mut world = World::new(4, 2, 4);
    world.run(ms(3_000));
    let siblings = split(&mut world, cause);
    let here = nodes(&group(&world, siblings[0]));
    let there = (0..4).filter(|node| !here.contains(node));
    for (out, come) in here.iter().zip(there) {
        exchange(&mut world, siblings[1], *out, first(come));
    }
    world.rest();
    assert!(!are_together(&world, siblings));
    (world, siblings)
}

/// Splits the first partition.
fn split(world: &mut World, cause: Cause) -> [PartitionId; 2] {
    let partition = world.partition();
    let table = world.catalog.table("t").unwrap().id;
    let partitions = vec![(table, partition)];
    world.change(Change::Divide(Divide { cause, partitions }));
    world.run(ms(500));
    let split = *world.catalog.split_of(partition).unwrap();
    world.controller.on_split_ready(SplitAsk {
        primary: world.group().primary,
        ready: SplitReady {
            table: split.table,
            partition,
            view: split.view,
            begun_at: split.begun_at,
        },
    });
    world.run(ms(500));
    let leaf = world.partition();
    let table = world.catalog.table("t").unwrap();
    table.siblings(leaf).unwrap()
}

fn group(world: &World, partition: PartitionId) -> Group {
    let table = world.catalog.table("t").unwrap();
    table.map.group(partition).unwrap().clone()
}

fn nodes(group: &Group) -> Vec<u32> {
    group
        .in_sync()
        .map(|replica| replica.member.node.0)
        .collect()
}

fn are_together(world: &World, siblings: [PartitionId; 2]) -> bool {
    world.catalog.table("t").unwrap().are_together(siblings)
}

/// A brick takes the place of a node's, in three views; nothing else is decided meanwhile.
fn exchange(world: &mut World, partition: PartitionId, out: u32, come: Replica) {
    let table = world.catalog.table("t").unwrap().id;
    world.controller.catalog = std::sync::Arc::new(world.catalog.clone());
    let before = group(world, partition);
    let apply = |world: &mut World, change: Change| {
        let applied = world.catalog.apply(change).unwrap();
        assert_eq!(applied.stale, []);
        if let Some(change) = group(world, partition).change {
            let settled = brickyard_metadata::Settled {
                table,
                partition,
                view: change.view,
            };
            world.catalog.apply(Change::from(vec![settled])).unwrap();
        }
    };
    let learners = NewLearners {
        table,
        partition,
        view: before.view,
        learners: vec![come],
    };
    apply(world, Change::from(vec![learners]));
    let before = group(world, partition);
    let all: Vec<Replica> = before.in_sync().chain([come]).collect();
    let promotion = Proposal {
        ground: Ground::Promotion,
        learners: Vec::new(),
        ..Proposal::of(table, partition, &before, &all)
    };
    apply(world, Change::from(vec![promotion]));
    let before = group(world, partition);
    let stays = |replica: &Replica| replica.member.node.0 != out;
    let left: Vec<Replica> = before.in_sync().filter(stays).collect();
    apply(
        world,
        Change::from(vec![Proposal::of(table, partition, &before, &left)]),
    );
    let catalog = std::sync::Arc::new(world.catalog.clone());
    world.controller.on_catalog(world.now, catalog);
}

/// Both primaries say for a while what they have, and learners catch up at once; nothing ever has fewer than two copies.
fn tell(world: &mut World, siblings: [PartitionId; 2], shares: [u16; 2], time: Duration) {
    let until = world.now + time;
    while world.now < until {
        for (partition, share) in siblings.into_iter().zip(shares) {
            let table = world.catalog.table("t").unwrap();
            if let Some(group) = table.map.group(partition) {
                let report = SmallReport {
                    replica: group.primary,
                    partitions: vec![Small { partition, share }],
                };
                world.controller.on_small(world.now, &report);
            }
        }
        step(world);
    }
}

fn step(world: &mut World) {
    world.promote_all();
    world.run(ms(50));
    assert!(
        world
            .groups()
            .iter()
            .all(|group| group.in_sync().count() >= 2)
    );
}

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The primary of both says that they are at rest.
fn answer(world: &mut World, siblings: [PartitionId; 2]) {
    for partition in siblings {
        let (view, begun_at) = world.catalog.rest_of(partition).expect("it is to rest");
        let ask = RestAsk {
            primary: group(world, partition).primary,
            rest: Rest {
                table: world.catalog.table("t").unwrap().id,
                partition,
                view,
                begun_at,
                last: (View(1), Op(9)),
            },
        };
        world.controller.on_rest(ask);
    }
    world.run(ms(500));
}

fn ask(world: &mut World, partition: PartitionId) -> Result<Change, String> {
    let table = "t".to_owned();
    let change = Change::MergePartitions { table, partition };
    world.controller.admit(world.now, change)
}

#[test]
fn siblings_that_shrank_apart_come_together_and_become_one_and_nothing_else_moves() {
    let (mut world, siblings) = world();
    let others = |world: &World| -> Vec<BTreeSet<u32>> {
        let all = world.groups();
        let others = all[2..]
            .iter()
            .map(|group| nodes(group).into_iter().collect());
        others.collect()
    };
    let before = (nodes(&group(&world, siblings[0])), others(&world));
    tell(&mut world, siblings, [100, 100], secs(58));
    assert!(!are_together(&world, siblings), "not at once");
    tell(&mut world, siblings, [100, 100], secs(6));
    assert!(
        world.catalog.merge_of(siblings[0]).is_some(),
        "they are merged"
    );
    assert!(are_together(&world, siblings));
    assert_eq!(nodes(&group(&world, siblings[0])), before.0);
    assert_eq!(others(&world), before.1);
    answer(&mut world, siblings);
    assert_eq!(world.groups().len(), 4);
    world.rest();
}

#[test]
fn halves_that_are_hot_no_more_come_together_and_become_one() {
    let (mut world, siblings) = world_of(Cause::Load);
    // By size they are none of the two that may be one.
    tell(&mut world, siblings, [1, 1], secs(200));
    assert!(!are_together(&world, siblings));
    tell(&mut world, siblings, [1, 1], secs(110));
    assert!(world.catalog.merge_of(siblings[0]).is_some());
    answer(&mut world, siblings);
    assert_eq!(world.groups().len(), 4);
    world.rest();
}

#[test]
fn another_leader_goes_on_when_it_has_heard_of_it() {
    let (mut world, siblings) = world();
    tell(&mut world, siblings, [100, 100], secs(61));
    world.elect();
    tell(&mut world, siblings, [100, 100], secs(70));
    assert!(world.catalog.merge_of(siblings[1]).is_some());
}

#[test]
fn siblings_that_are_not_small_together_stay_where_they_are() {
    let (mut world, siblings) = world();
    let before = world.groups();
    tell(&mut world, siblings, [125, 125], secs(90));
    // One that says nothing may have any size.
    tell(&mut world, [siblings[0]; 2], [1, 1], secs(90));
    assert_eq!(world.groups(), before);
    // Nor is anybody else believed.
    for node in 0..4 {
        let primary = group(&world, siblings[1]).primary;
        if first(node) != primary {
            let report = SmallReport {
                replica: first(node),
                partitions: vec![Small {
                    partition: siblings[1],
                    share: 1,
                }],
            };
            world.controller.on_small(world.now, &report);
        }
    }
    assert!(!world.controller.colocation.is_small(siblings));
}

#[test]
fn nothing_is_brought_together_while_moves_are_paused_or_if_it_is_turned_off() {
    let (mut world, siblings) = world();
    world.change(Change::PauseMoves(true));
    let before = world.groups();
    tell(&mut world, siblings, [1, 1], secs(90));
    assert_eq!(world.groups(), before);
    world.config.merge_after = Duration::ZERO;
    world.elect();
    world.change(Change::PauseMoves(false));
    tell(&mut world, siblings, [1, 1], secs(90));
    assert_eq!(world.groups(), before);
}

/// No learner ever catches up, as if the siblings were large or disks slow.
fn run_without_promotions(world: &mut World, siblings: [PartitionId; 2], time: Duration) {
    let until = world.now + time;
    while world.now < until {
        for partition in siblings {
            let report = SmallReport {
                replica: group(world, partition).primary,
                partitions: vec![Small {
                    partition,
                    share: 1,
                }],
            };
            world.controller.on_small(world.now, &report);
        }
        world.run(ms(500));
    }
}

#[test]
fn pair_whose_member_is_lost_is_given_up_and_the_copy_made_where_the_plan_has_it() {
    let (mut world, siblings) = world();
    run_without_promotions(&mut world, siblings, secs(62));
    let learners = group(&world, siblings[1]).learners;
    assert_eq!(learners.len(), 1);
    let lost = nodes(&group(&world, siblings[0]));
    let lost = lost.into_iter().find(|it| *it != 0).unwrap();
    world.nodes[lost as usize].is_up = false;
    run_without_promotions(&mut world, siblings, secs(5));
    assert!(!is_pair(&world));
    assert!(world.catalog.merges().next().is_none());
}

#[test]
fn pair_that_takes_too_long_is_left_alone_for_a_while() {
    let (mut world, siblings) = world();
    run_without_promotions(&mut world, siblings, secs(62));
    assert_eq!(group(&world, siblings[1]).learners.len(), 1);
    run_without_promotions(&mut world, siblings, secs(235));
    assert!(is_pair(&world));
    run_without_promotions(&mut world, siblings, secs(70));
    assert!(!is_pair(&world));
    tell(&mut world, siblings, [1, 1], secs(500));
    assert!(!is_pair(&world) && !are_together(&world, siblings));
    tell(&mut world, siblings, [1, 1], secs(180));
    assert!(world.catalog.merge_of(siblings[1]).is_some(), "tried again");
}

#[test]
fn pair_of_which_nothing_is_said_any_more_is_given_up() {
    let (mut world, siblings) = world();
    run_without_promotions(&mut world, siblings, secs(62));
    assert!(is_pair(&world));
    world.run(secs(25));
    assert!(!is_pair(&world));
}

fn is_pair(world: &World) -> bool {
    !world.controller.colocation.pairs().is_empty()
}

#[test]
fn operator_who_asks_for_a_merge_of_siblings_apart_asks_until_they_are_together() {
    let (mut world, siblings) = world();
    let refusal = ask(&mut world, siblings[1]).unwrap_err();
    assert!(refusal.starts_with("TRYAGAIN partitions "), "{refusal}");
    for _ in 0..40 {
        step(&mut world);
    }
    assert!(are_together(&world, siblings));
    // Nobody was promised that it is merged without being asked again.
    world.run(secs(5));
    assert!(world.catalog.merges().next().is_none());
    let change = ask(&mut world, siblings[0]).unwrap();
    world.change(change);
    world.run(ms(500));
    answer(&mut world, siblings);
    assert_eq!(world.groups().len(), 4);
    world.rest();
}

#[test]
fn what_an_operator_asks_for_no_more_is_given_up() {
    let (mut world, siblings) = world();
    ask(&mut world, siblings[0]).unwrap_err();
    world.run(secs(25));
    assert_eq!(group(&world, siblings[1]).learners.len(), 1);
    ask(&mut world, siblings[0]).unwrap_err();
    world.run(secs(25));
    assert!(is_pair(&world));
    world.run(secs(10));
    assert!(!is_pair(&world));
}

#[test]
fn operator_is_told_what_stands_against_it() {
    let (mut world, siblings) = world();
    world.change(Change::PauseMoves(true));
    let refusal = ask(&mut world, siblings[0]).unwrap_err();
    assert!(refusal.contains("moves are paused"), "{refusal}");
    // What is no matter of bricks the catalog says.
    let other = world.catalog.table("t").unwrap().map.partitions().leaves()[3].partition;
    assert!(ask(&mut world, other).is_ok());
    assert!(ask(&mut world, PartitionId(77)).is_ok());
}

/// Nothing moves in a table that is offline, so asking again would go on for ever. The simulator found it.
#[test]
fn operator_is_told_that_a_table_went_offline_before_its_siblings_were_together() {
    let (mut world, siblings) = world();
    ask(&mut world, siblings[0]).unwrap_err();
    assert!(is_pair(&world));
    world.change(Change::TakeOffline {
        name: "t".to_owned(),
        force: false,
    });
    let change = ask(&mut world, siblings[0]).expect("the catalog says what is against it");
    let refused = world.catalog.check_merge("t", siblings[0]);
    assert!(refused.unwrap_err().to_string().contains("offline"));
    assert!(matches!(change, Change::MergePartitions { .. }));
    world.run(ms(500));
    assert!(!is_pair(&world));
}

/// On two nodes nobody can pass: the right one has the other brick of one of them.
#[test]
fn siblings_that_cannot_come_together_are_refused_once_that_is_known() {
    let mut world = World::of(3, 2, 2, 8, |_| ());
    world.run(ms(3_000));
    let siblings = split(&mut world, Cause::Size);
    let here = nodes(&group(&world, siblings[0]));
    let free = (0..3).find(|it| !here.contains(it)).unwrap();
    let out = group(&world, siblings[0]).primary;
    exchange(&mut world, siblings[1], out.member.node.0, first(free));
    let other = Replica {
        member: Member {
            brick: BrickId(1 - out.member.brick.0),
            ..out.member
        },
        ..out
    };
    exchange(&mut world, siblings[1], free, other);
    world.change(Change::AlterNode {
        node: NodeId(free),
        alteration: brickyard_metadata::NodeAlteration {
            weight: Some(0),
            ..Default::default()
        },
    });
    for _ in 0..200 {
        step(&mut world);
    }
    assert!(!are_together(&world, siblings));
    ask(&mut world, siblings[0]).unwrap_err();
    world.run(secs(2));
    let change = ask(&mut world, siblings[0]).unwrap();
    let refused = world.catalog.apply(change).unwrap_err();
    assert!(refused.to_string().contains("same bricks"), "{refused}");
}
