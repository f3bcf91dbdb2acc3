use crate::ControlConfig;
use crate::controller::testing::{World, first, ms};
use crate::message::SplitAsk;
use brickyard_metadata::{Change, Divide, SplitReady};
use brickyard_types::PartitionId;
use std::time::Duration;

/// Three bricks, for which a table of 512 partitions has too few: there should be 600, so 1,024.
fn world() -> World {
    let mut world = chosen();
    world.change(size(true));
    world
}

fn chosen() -> World {
    let mut world = World::new(3, 2, 512);
    world.config = ControlConfig {
        split_after: Duration::from_secs(2),
        splits_per_brick: 2,
        ..ControlConfig::default()
    };
    world.elect();
    world
}

fn size(by_bricks: bool) -> Change {
    Change::SizeTable {
        name: "t".to_owned(),
        by_bricks,
    }
}

fn divided(world: &World) -> Vec<&Divide> {
    let all = world.proposed.iter().filter_map(|it| match it {
        Change::Divide(divide) => Some(divide),
        _ => None,
    });
    all.collect()
}

/// The primaries of all partitions that are to be split say that they are ready.
fn answer(world: &mut World) {
    let table = world.catalog.table("t").unwrap();
    let asks: Vec<SplitAsk> = world
        .catalog
        .splits()
        .map(|(partition, split)| SplitAsk {
            primary: table.map.group(partition).unwrap().primary,
            ready: SplitReady {
                table: split.table,
                partition,
                view: split.view,
                begun_at: split.begun_at,
            },
        })
        .collect();
    for ask in asks {
        world.controller.on_split_ready(ask);
    }
}

fn under_way(world: &World) -> Vec<PartitionId> {
    world.catalog.splits().map(|(id, _)| id).collect()
}

#[test]
fn table_that_has_too_few_partitions_is_split_a_few_at_a_time_until_it_has_enough() {
    let mut world = world();
    world.run(ms(1_900));
    assert_eq!(divided(&world).len(), 0, "more nodes may come");
    world.run(ms(2_000));
    assert_eq!(divided(&world).len(), 1);
    assert_eq!(under_way(&world).len(), 6, "two of each brick");
    let until = world.now + Duration::from_secs(60);
    while world.groups().len() < 1_024 {
        assert!(world.now < until, "{} partitions", world.groups().len());
        assert!(under_way(&world).len() <= 6);
        answer(&mut world);
        world.run(ms(50));
    }
    let map = world.catalog.table("t").unwrap().map.partitions();
    assert!(map.leaves().iter().all(|it| it.prefix.depth() == 10));
    // Shares of halves are finer.
    for _ in 0..200 {
        world.promote_all();
        world.run(ms(100));
    }
    world.rest();
    assert_eq!(world.groups().len(), 1_024);
}

#[test]
fn new_leader_goes_on_where_the_former_one_was() {
    let mut world = world();
    world.run(ms(4_000));
    let begun = under_way(&world);
    assert_eq!(begun.len(), 6);
    world.elect();
    world.run(ms(4_000));
    assert_eq!(under_way(&world), begun, "what is under way counts");
    answer(&mut world);
    world.run(ms(1_000));
    assert_eq!(world.groups().len(), 518);
    assert_eq!(under_way(&world).len(), 6);
}

#[test]
fn nothing_is_split_while_moves_are_paused() {
    let mut world = world();
    world.change(Change::PauseMoves(true));
    world.run(Duration::from_secs(10));
    assert_eq!(divided(&world).len(), 0);
    world.change(Change::PauseMoves(false));
    world.run(ms(1_100));
    assert_eq!(divided(&world).len(), 1);
}

#[test]
fn nothing_is_split_while_a_copy_is_missing() {
    let mut world = chosen();
    world.nodes[2].is_up = false;
    world.run(Duration::from_secs(5));
    world.change(size(true));
    world.run(Duration::from_secs(5));
    assert_eq!(divided(&world).len(), 0);
    world.restart(2);
    world.run(ms(3_000));
    assert_eq!(divided(&world).len(), 0, "it has not caught up");
    world.run_until(|world| {
        let mut groups = world.groups().into_iter();
        groups.any(|group| !group.learners.is_empty())
    });
    while world.groups().iter().any(|it| it.in_sync().count() < 2) {
        assert_eq!(divided(&world).len(), 0);
        world.promote_all();
        world.run(ms(50));
    }
    world.run(ms(3_000));
    assert!(!divided(&world).is_empty());
}

#[test]
fn node_that_joins_gets_halves_and_no_wholes_that_are_split_afterwards() {
    let mut world = World::new(3, 2, 512);
    world.config = ControlConfig {
        split_after: Duration::from_millis(100),
        splits_per_brick: 64,
        ..ControlConfig::default()
    };
    world.elect();
    world.change(size(true));
    let joined = world.join();
    assert_eq!(joined.member, first(3).member);
    let holds = |world: &World| {
        let groups = world.groups();
        let mut members = groups.iter().flat_map(|group| group.members());
        members.any(|it| it == joined)
    };
    let mut partitions_when_it_came = None;
    let until = world.now + Duration::from_secs(60);
    while world.now < until {
        answer(&mut world);
        world.promote_all();
        world.run(ms(50));
        if partitions_when_it_came.is_none() && holds(&world) {
            partitions_when_it_came = Some(world.groups().len());
        }
    }
    assert_eq!(partitions_when_it_came, Some(1_024));
    assert!(holds(&world));
    world.rest();
}

#[test]
fn chosen_number_of_partitions_is_left_alone() {
    let mut world = world();
    world.change(size(false));
    world.join();
    let until = world.now + Duration::from_secs(20);
    while world.now < until {
        world.promote_all();
        world.run(ms(50));
    }
    assert_eq!(divided(&world).len(), 0);
    assert_eq!(world.groups().len(), 512);
}
