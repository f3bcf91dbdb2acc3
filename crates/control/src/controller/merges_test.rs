use crate::controller::testing::{World, first, ms};
use crate::message::{EvictAsk, LogSummary, RestAsk, SplitAsk};
use brickyard_metadata::{Change, Proposal, Rest, SplitReady};
use brickyard_routing::Replica;
use brickyard_types::{Durability, Op, PartitionId, View};

/// The first two of a table's partitions, which came from one of three members and were never moved.
fn siblings(world: &World) -> [PartitionId; 2] {
    let table = world.catalog.table("t").unwrap();
    let leaves = table.map.partitions().leaves();
    [leaves[0].partition, leaves[1].partition]
}

fn world() -> World {
    let mut world = World::with(3, 3, 1, |attributes| {
        attributes.durability = Durability::Fsync;
    });
    world.run(ms(3_000));
    let partition = world.partition();
    world.change(Change::SplitPartition {
        table: "t".to_owned(),
        partition,
    });
    world.run(ms(500));
    let split = *world.catalog.split_of(partition).unwrap();
    world.controller.on_split_ready(SplitAsk {
        primary: first(0),
        ready: SplitReady {
            table: split.table,
            partition,
            view: split.view,
            begun_at: split.begun_at,
        },
    });
    world.run(ms(500));
    world
}

fn merge(world: &mut World) {
    let [partition, _] = siblings(world);
    world.change(Change::MergePartitions {
        table: "t".to_owned(),
        partition,
    });
}

fn answer(world: &World, partition: PartitionId, primary: Replica) -> RestAsk {
    let (view, begun_at) = world.catalog.rest_of(partition).unwrap();
    RestAsk {
        primary,
        rest: Rest {
            table: world.catalog.table("t").unwrap().id,
            partition,
            view,
            begun_at,
            last: (view, Op(9)),
        },
    }
}

/// Rule `splits and merges are bound to views`.
#[test]
fn maps_change_when_the_primary_has_answered_for_both_siblings() {
    let mut world = world();
    let before = world.groups().len();
    merge(&mut world);
    world.run(ms(500));
    let [left, right] = siblings(&world);
    world.controller.on_rest(answer(&world, left, first(0)));
    world.controller.on_rest(answer(&world, right, first(1)));
    world.run(ms(500));
    assert_eq!(world.groups().len(), before, "one answer is a stranger's");
    world.controller.on_rest(answer(&world, right, first(0)));
    world.run(ms(500));
    assert_eq!(world.groups().len(), before - 1);
    let group = world.group();
    assert_eq!((group.view, group.primary), (View(3), first(0)));
    assert_eq!(group.in_sync().count(), 3);
}

/// The leader stopped, since it had decided two things about the right half: the simulator found it (seed 9900010077).
#[test]
fn merge_that_ends_is_all_that_is_decided_of_its_halves() {
    let mut world = world();
    let before = world.groups().len();
    merge(&mut world);
    world.run(ms(500));
    let [left, right] = siblings(&world);
    let asks = [left, right].map(|it| answer(&world, it, first(0)));
    let group = world.catalog.table("t").unwrap().map.group(right).cloned();
    world.controller.on_evict(EvictAsk {
        primary: first(0),
        backup: first(1),
        table: world.catalog.table("t").unwrap().id,
        partition: right,
        view: group.unwrap().view,
        has_withdrawn: false,
    });
    for ask in asks {
        world.controller.on_rest(ask);
    }
    world.run(ms(500));
    assert_eq!(world.groups().len(), before - 1);
    assert_eq!(world.group().in_sync().count(), 3);
}

#[test]
fn siblings_that_different_bricks_lead_are_led_by_one_first() {
    let mut world = world();
    let [left, right] = siblings(&world);
    let table = world.catalog.table("t").unwrap();
    let group = table.map.group(right).unwrap();
    let replicas = [first(1), first(0), first(2)];
    let elsewhere = Proposal::of(table.id, right, group, &replicas);
    world.change(Change::from(vec![elsewhere]));
    world.run_until(World::is_settled);
    merge(&mut world);
    assert!(world.catalog.rests().next().is_none());
    world.run_until(|world| world.catalog.rest_of(right).is_some());
    let groups = world.groups();
    assert_eq!(groups[0].primary, groups[1].primary);
    let (view, _) = world.catalog.rest_of(left).unwrap();
    assert_eq!(view, groups[0].view);
}

/// Rule `splits and merges are bound to views`.
#[test]
fn failure_ends_a_merge_and_its_answers_come_too_late() {
    let mut world = world();
    merge(&mut world);
    world.run(ms(500));
    let [left, right] = siblings(&world);
    let asks = [left, right].map(|it| answer(&world, it, first(0)));
    world.nodes[2].is_up = false;
    world.run(ms(3_000));
    assert_eq!(world.catalog.merges().len(), 0);
    for ask in asks {
        world.controller.on_rest(ask);
    }
    world.run(ms(500));
    assert_eq!(siblings(&world), [left, right]);
    assert_eq!(world.group().in_sync().count(), 2);
}

/// A brick that restarted and has not heard of the merge speaks of a half: that says nothing of the whole, and least of
/// all that it holds nothing of it.
/// Rule `splits and merges are bound to views`.
#[test]
fn report_from_before_a_merge_is_asked_for_again() {
    let mut world = world();
    merge(&mut world);
    world.run(ms(500));
    let halves = siblings(&world);
    for half in halves {
        world.controller.on_rest(answer(&world, half, first(0)));
    }
    world.run(ms(500));
    for node in &mut world.nodes {
        node.is_up = false;
    }
    world.run(ms(2_000));
    let summary = LogSummary {
        durability: Durability::Fsync,
        ..world.summary((2, 9))
    };
    let of_half = |partition| LogSummary {
        partition,
        ..summary
    };
    world.nodes[0].summaries = halves.map(of_half).to_vec();
    let risen = world.restart(0);
    world.run(ms(1_000));
    assert_eq!(world.group().view, View(3), "nothing is known of the whole");
    world.nodes[0].summaries = vec![summary];
    world.run(ms(1_000));
    assert_eq!(
        (world.group().view, world.group().primary),
        (View(4), risen)
    );
}
