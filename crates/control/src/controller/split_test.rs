use super::testing::{World, first, ms};
use crate::message::{LogSummary, SplitAsk};
use brickyard_metadata::{Change, Proposal, SplitReady};
use brickyard_routing::Replica;
use brickyard_types::{Durability, PartitionId, View};

/// A partition of three members is to be split.
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
    world
}

fn answer(world: &World, partition: PartitionId, primary: Replica) -> SplitAsk {
    let split = world.catalog.split_of(partition).unwrap();
    SplitAsk {
        primary,
        ready: SplitReady {
            table: split.table,
            partition,
            view: split.view,
            begun_at: split.begun_at,
        },
    }
}

/// Rule `splits and merges are bound to views`.
#[test]
fn maps_change_when_the_primary_is_ready_and_nobody_else() {
    let mut world = world();
    let partition = world.partition();
    let before = world.groups().len();
    let foreign = answer(&world, partition, first(1));
    world.controller.on_split_ready(foreign);
    world.run(ms(500));
    assert_eq!(
        world.groups().len(),
        before,
        "the answer is not its primary's"
    );
    let ask = answer(&world, partition, first(0));
    world.controller.on_split_ready(ask);
    world.run(ms(500));
    let groups = world.groups();
    assert_eq!(groups.len(), before + 1);
    for group in &groups[..2] {
        assert_eq!((group.view, group.primary), (View(2), first(0)));
        assert_eq!(group.backups.len(), 2);
    }
}

/// The primary has adopted the intent, and this leader, whose own disk is slow, not yet.
#[test]
fn answer_that_comes_before_the_catalog_that_it_answers_is_not_forgotten() {
    let mut world = World::with(3, 3, 1, |_| {});
    world.run(ms(3_000));
    let partition = world.partition();
    let mut ahead = world.catalog.clone();
    let change = Change::SplitPartition {
        table: "t".to_owned(),
        partition,
    };
    ahead.apply(change.clone()).unwrap();
    let split = ahead.split_of(partition).unwrap();
    let ready = SplitReady {
        table: split.table,
        partition,
        view: split.view,
        begun_at: split.begun_at,
    };
    let primary = world.group().primary;
    world.controller.on_split_ready(SplitAsk { primary, ready });
    world.run(ms(50));
    let before = world.groups().len();
    assert_eq!(world.partition(), partition);
    world.change(change);
    world.run(ms(50));
    assert_eq!(world.groups().len(), before + 1);
}

/// Rule `splits and merges are bound to views`.
#[test]
fn failure_ends_a_split_and_its_answer_comes_too_late() {
    let mut world = world();
    let partition = world.partition();
    let ask = answer(&world, partition, first(0));
    world.nodes[2].is_up = false;
    world.run(ms(3_000));
    assert_eq!(world.catalog.split_of(partition), None);
    world.controller.on_split_ready(ask);
    world.run(ms(500));
    assert_eq!(world.partition(), partition);
    assert_eq!(world.group().in_sync().count(), 2);
}

/// A brick that restarted and has not heard of the split speaks of the whole: that says nothing of the parts, and least
/// of all that it holds nothing of them.
/// Rule `splits and merges are bound to views`.
#[test]
fn report_from_before_a_split_is_asked_for_again() {
    let mut world = world();
    let whole = world.partition();
    let ask = answer(&world, whole, first(0));
    world.controller.on_split_ready(ask);
    world.run(ms(500));
    for node in &mut world.nodes {
        node.is_up = false;
    }
    world.run(ms(2_000));
    let summary = LogSummary {
        durability: Durability::Fsync,
        ..world.summary((1, 9))
    };
    world.nodes[0].summaries = vec![LogSummary {
        partition: whole,
        ..summary
    }];
    let risen = world.restart(0);
    world.run(ms(1_000));
    assert_eq!(world.group().view, View(2), "nothing is known of the parts");
    world.nodes[0].summaries = vec![summary];
    world.run(ms(1_000));
    assert_eq!(
        (world.group().view, world.group().primary),
        (View(3), risen)
    );
}

/// It holds up the balance of primaries, and no longer than it takes.
#[test]
fn primaries_are_not_evened_out_while_a_partition_is_split() {
    let mut world = World::new(3, 3, 16);
    world.run(ms(3_000));
    let partition = world.partition();
    world.change(Change::SplitPartition {
        table: "t".to_owned(),
        partition,
    });
    let table = world.catalog.table("t").unwrap();
    let all = table.partitions().filter(|it| it.1.primary == first(2));
    let moved = all.map(|(partition, group)| {
        let next = [first(1), first(0), first(2)];
        Proposal::of(table.id, partition, group, &next)
    });
    let moved: Vec<Proposal> = moved.collect();
    world.change(Change::from(moved));
    let led = |world: &World| {
        let groups = world.groups();
        groups.iter().filter(|it| it.primary == first(2)).count()
    };
    world.run_until(World::is_settled);
    world.run(ms(5_000));
    assert_eq!(led(&world), 0);
    let ask = answer(&world, partition, world.group().primary);
    world.controller.on_split_ready(ask);
    world.run(ms(5_000));
    assert!(led(&world) > 4, "{}", led(&world));
}
