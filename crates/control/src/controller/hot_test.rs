use super::Hot;
use crate::ControlConfig;
use crate::controller::testing::{World, first, ms};
use crate::message::{LoadReport, SplitAsk};
use brickyard_metadata::{BrickLoad, Cause, Change, Divide, Extra, PartitionLoad, SplitReady};
use brickyard_routing::{Hasher, Replica};
use brickyard_types::PartitionId;
use std::time::Duration;

/// A table of eight partitions on two of three nodes each.
fn world() -> World {
    world_with(|_| ())
}

fn world_with(change: impl FnOnce(&mut ControlConfig)) -> World {
    world_of(3, change)
}

fn world_of(nodes: u8, change: impl FnOnce(&mut ControlConfig)) -> World {
    let mut world = World::new(nodes, 2, 8);
    change(&mut world.config);
    world.elect();
    world.run(ms(3_000));
    world
}

/// What a brick says that is so busy, with its partitions.
#[derive(Clone, Debug)]
struct Report(u32, u16, Vec<PartitionLoad>);

fn takes(partition: PartitionId, load: u16) -> PartitionLoad {
    PartitionLoad {
        partition,
        load,
        writes: 500,
        is_narrow: false,
    }
}

fn read(partition: PartitionId, load: u16) -> PartitionLoad {
    PartitionLoad {
        writes: 10,
        is_narrow: true,
        ..takes(partition, load)
    }
}

/// Bricks say this for a while; those of which nothing is said are idle. Learners catch up at once.
fn run(world: &mut World, reports: &[Report], time: Duration) {
    let until = world.now + time;
    while world.now < until {
        for node in 0..world.nodes.len() as u32 {
            let report = reports.iter().find(|it| it.0 == node);
            let load = report.map_or_else(BrickLoad::default, |Report(_, busy, partitions)| {
                BrickLoad {
                    busy: *busy,
                    partitions: partitions.clone(),
                }
            });
            let replica = Replica {
                incarnation: world.nodes[node as usize].incarnation,
                ..first(node)
            };
            world
                .controller
                .on_load(world.now, LoadReport { replica, load });
        }
        world.promote_all();
        world.run(ms(200));
    }
}

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// What was decided for the sake of load since `from`.
fn remedies(world: &World, from: usize) -> Vec<&Change> {
    let all = world.proposed[from..].iter();
    let kinds = all.filter(|it| {
        matches!(
            it,
            Change::Divide(_) | Change::SetExtras(_) | Change::MergePartitions { .. }
        )
    });
    kinds.collect()
}

fn extra(world: &World) -> u8 {
    world.catalog.extra(world.partition())
}

#[test]
fn hot_partition_is_handed_over_to_a_copy_whose_brick_has_room() {
    let mut world = world();
    let (hot, before) = (world.partition(), world.proposed.len());
    assert_eq!(world.group().primary, first(0));
    let backup = world.group().backups[0];
    run(
        &mut world,
        &[Report(0, 900, vec![takes(hot, 500)])],
        secs(9),
    );
    assert_eq!(world.proposed.len(), before, "it may pass");
    run(
        &mut world,
        &[Report(0, 900, vec![takes(hot, 500)])],
        secs(3),
    );
    let group = world.group();
    assert_eq!((group.primary, group.backups), (backup, vec![first(0)]));
    assert!(remedies(&world, before).is_empty());
    // Now it is busy there, by less. What evenness asks for is done with others.
    let there = backup.member.node.0;
    run(
        &mut world,
        &[
            Report(0, 400, vec![]),
            Report(there, 500, vec![takes(hot, 500)]),
        ],
        secs(60),
    );
    assert_eq!(world.group().primary, backup);
    let led = |replica: Replica| {
        world
            .groups()
            .iter()
            .filter(|it| it.primary == replica)
            .count()
    };
    assert!(led(first(0)) >= 2, "{}", led(first(0)));
}

#[test]
fn partition_stays_where_handing_it_over_would_only_move_the_trouble() {
    let mut world = world();
    let (hot, groups) = (world.partition(), world.groups());
    let narrow = PartitionLoad {
        is_narrow: true,
        ..takes(hot, 850)
    };
    let busy = |node| Report(node, 850, vec![narrow]);
    let before = world.proposed.len();
    run(&mut world, &[busy(0)], secs(60));
    assert_eq!(world.groups(), groups);
    assert!(
        remedies(&world, before).is_empty(),
        "it is mostly written, and one slot"
    );
}

#[test]
fn partition_that_takes_a_whole_brick_is_split_if_its_load_is_of_many_slots() {
    // Of two nodes both halves stay on both.
    let mut world = world_of(2, |_| ());
    let (hot, before) = (world.partition(), world.proposed.len());
    run(
        &mut world,
        &[Report(0, 900, vec![takes(hot, 880)])],
        secs(12),
    );
    let table = world.catalog.table("t").unwrap().id;
    let expected = Change::Divide(Divide {
        cause: Cause::Load,
        partitions: vec![(table, hot)],
    });
    assert_eq!(remedies(&world, before), [&expected]);
    answer_split(&mut world, hot);
    let halves = world.catalog.hot_siblings(table);
    assert_eq!(halves.len(), 1);
    // One half is handed over, and when both are cool they are one again.
    let [left, right] = halves[0];
    let reports = [Report(0, 900, vec![takes(left, 450), takes(right, 430)])];
    let led_by_one = |world: &World| {
        let groups = world.groups();
        groups[0].primary == groups[1].primary
    };
    for _ in 0..15 {
        if led_by_one(&world) {
            run(&mut world, &reports, secs(1));
        }
    }
    assert!(!led_by_one(&world));
    let before = world.proposed.len();
    run(&mut world, &[], secs(290));
    assert!(remedies(&world, before).is_empty(), "not at once");
    run(&mut world, &[], secs(40));
    assert_eq!(world.catalog.merges().len(), 1);
}

fn answer_split(world: &mut World, partition: PartitionId) {
    let split = *world.catalog.split_of(partition).unwrap();
    let table = world.catalog.table("t").unwrap();
    let ask = SplitAsk {
        primary: table.map.group(partition).unwrap().primary,
        ready: SplitReady {
            table: split.table,
            partition,
            view: split.view,
            begun_at: split.begun_at,
        },
    };
    world.controller.on_split_ready(ask);
    world.run(ms(200));
}

#[test]
fn slot_that_is_read_too_much_gets_copies_more_and_gives_them_back() {
    let mut world = world_with(|config| config.hot.cool = secs(60));
    let hot = world.partition();
    let reports = [Report(0, 900, vec![read(hot, 880)])];
    run(&mut world, &reports, secs(13));
    assert_eq!(extra(&world), 1);
    assert_eq!(world.in_sync().len(), 3);
    // As long as it is needed it stays, and there is no fourth node.
    let shared: Vec<Report> = (0..3)
        .map(|it| Report(it, 400, vec![read(hot, 390)]))
        .collect();
    run(&mut world, &shared, secs(120));
    assert_eq!((extra(&world), world.in_sync().len()), (1, 3));
    world.elect();
    run(&mut world, &shared, secs(5));
    assert_eq!((extra(&world), world.in_sync().len()), (1, 3));
    run(&mut world, &[], secs(50));
    assert_eq!(extra(&world), 1, "it may come again");
    run(&mut world, &[], secs(20));
    assert_eq!((extra(&world), world.in_sync().len()), (0, 2));
    world.rest();
}

#[test]
fn copy_more_that_nobody_reads_is_given_back_and_not_made_again_at_once() {
    let mut world = world_with(|config| config.hot.cool = secs(60));
    let reports = [Report(0, 900, vec![read(world.partition(), 880)])];
    run(&mut world, &reports, secs(13));
    assert_eq!(extra(&world), 1);
    run(&mut world, &reports, secs(75));
    assert_eq!((extra(&world), world.in_sync().len()), (0, 2));
    run(&mut world, &reports, secs(330));
    assert_eq!(extra(&world), 0);
    run(&mut world, &reports, secs(60));
    assert_eq!(extra(&world), 1, "times change");
}

#[test]
fn copy_more_goes_to_the_brick_with_most_time() {
    let mut world = World::new(5, 2, 8);
    world.run(ms(3_000));
    let hot = world.partition();
    let busy = |node, busy| Report(node, busy, vec![]);
    let reports = [
        Report(0, 900, vec![read(hot, 880)]),
        busy(1, 600),
        busy(2, 300),
        busy(3, 100),
        busy(4, 500),
    ];
    run(&mut world, &reports, secs(13));
    assert_eq!(extra(&world), 1);
    assert!(world.in_sync().contains(&first(3)), "{:?}", world.group());
}

#[test]
fn nothing_is_done_while_moves_are_paused_and_nothing_at_all_if_it_is_turned_off() {
    let mut world = world();
    let reports = [Report(0, 900, vec![read(world.partition(), 880)])];
    world.change(Change::PauseMoves(true));
    run(&mut world, &reports, secs(30));
    assert_eq!(extra(&world), 0);
    world.change(Change::PauseMoves(false));
    run(&mut world, &reports, secs(3));
    assert_eq!(extra(&world), 1);
    world.config.hot.busy = 0;
    world.elect();
    run(&mut world, &reports, secs(10));
    assert_eq!(
        (extra(&world), world.in_sync().len()),
        (0, 2),
        "what was lent comes back"
    );
    let mut world = world_with(|config| config.hot.replicas = 0);
    run(&mut world, &reports, secs(30));
    assert_eq!(extra(&world), 0);
}

#[test]
fn copy_more_that_is_not_there_yet_holds_up_no_moves() {
    let mut world = world();
    let table = world.catalog.table("t").unwrap().id;
    world.change(Change::SetExtras(vec![Extra {
        table,
        partition: world.partition(),
        copies: 1,
    }]));
    world.run(ms(500));
    assert_eq!(world.group().learners.len(), 1);
    world.join();
    world.run(ms(3_000));
    let learn = world
        .groups()
        .iter()
        .filter(|it| !it.learners.is_empty())
        .count();
    assert!(learn > 1, "the node that joined gets its share");
}

#[test]
fn copy_more_that_is_lost_is_made_anew() {
    let mut world = world();
    let hot = world.partition();
    let reports = [Report(0, 900, vec![read(hot, 880)])];
    run(&mut world, &reports, secs(13));
    let group = world.group();
    assert_eq!(group.in_sync().count(), 3);
    let lost = group.backups[1].member.node.0;
    world.restart(lost);
    let shared: Vec<Report> = (0..3)
        .map(|it| Report(it, 400, vec![read(hot, 390)]))
        .collect();
    run(&mut world, &shared, secs(10));
    assert_eq!((extra(&world), world.in_sync().len()), (1, 3));
}

#[test]
fn brick_that_is_busy_now_and_then_is_left_alone() {
    let mut world = world();
    let (hot, before) = (world.partition(), world.proposed.len());
    let busy = [Report(0, 900, vec![takes(hot, 500)])];
    for _ in 0..4 {
        run(&mut world, &busy, secs(8));
        run(&mut world, &[], secs(2));
    }
    assert_eq!(world.proposed.len(), before);
}

#[test]
fn what_a_backup_does_for_a_partition_goes_the_other_way() {
    let mut world = world();
    let (hot, before) = (world.partition(), world.proposed.len());
    let backup = world.group().backups[0];
    let there = backup.member.node.0;
    // 850 there and 150 here would be the same trouble the other way round.
    let reports = |busy, takes_here| {
        [
            Report(0, 900, vec![takes(hot, takes_here)]),
            Report(there, busy, vec![takes(hot, 100)]),
        ]
    };
    run(&mut world, &reports(200, 850), secs(30));
    assert_eq!(world.group().primary, first(0));
    assert_eq!(remedies(&world, before).len(), 1, "it is split instead");
    // 600 there, and 500 here.
    let mut world = self::world();
    run(&mut world, &reports(200, 500), secs(12));
    assert_eq!(world.group().primary, backup);
}

#[test]
fn what_load_put_somewhere_stays_there_as_long_as_it_is_hot() {
    let mut world = world();
    let (hot, now) = (world.partition(), world.now);
    let report = |load| {
        let load = BrickLoad {
            busy: 900,
            partitions: vec![takes(hot, load)],
        };
        (now, load)
    };
    let other = world.controller.hot.placed.insert(PartitionId(99), now);
    assert_eq!(other, None);
    world.controller.hot.placed.insert(hot, now);
    world.controller.hot.reported.insert(first(0), report(100));
    let hottest = &mut world.controller.hot;
    hottest.forget(now, &world.catalog, 100);
    assert!(hottest.is_placed(hot) && !hottest.is_placed(PartitionId(99)));
    hottest.reported.insert(first(0), report(99));
    hottest.forget(now, &world.catalog, 100);
    assert!(!hottest.is_placed(hot));
}

#[test]
fn partition_is_split_for_its_load_up_to_the_depth_that_a_map_may_have() {
    let mut world = world();
    let (partition, now) = (world.partition(), world.now);
    let load = BrickLoad {
        busy: 900,
        partitions: vec![takes(partition, 880)],
    };
    world
        .controller
        .hot
        .reported
        .insert(first(0), (now, load.clone()));
    let (table, group) = (world.catalog.table("t").unwrap(), world.group());
    let is_split = |depth| {
        let hot = Hot {
            table,
            partition,
            group: &group,
            depth,
            load: load.partitions[0],
        };
        let split = world.controller.hot.split_hot(now, first(0), &[hot]);
        split.is_some()
    };
    assert!(is_split(Hasher::Slot.split_depth_max() - 1));
    assert!(!is_split(Hasher::Slot.split_depth_max()));
}

#[test]
fn partition_is_cool_whose_load_one_copy_less_would_hardly_notice() {
    let mut world = world();
    let (partition, now) = (world.partition(), world.now);
    let group = world.group();
    let mut is_cool = |of_each: [u16; 2]| {
        for (replica, load) in group.in_sync().zip(of_each) {
            let load = BrickLoad {
                busy: 500,
                partitions: vec![takes(partition, load)],
            };
            world.controller.hot.reported.insert(replica, (now, load));
        }
        let config = &world.config;
        world.controller.hot.is_cool(&group, partition, config)
    };
    assert!(is_cool([100, 75]));
    assert!(!is_cool([100, 76]));
}

#[test]
fn halves_that_are_still_loaded_or_not_stable_stay_two() {
    let mut world = world_of(2, |config| config.hot.cool = secs(20));
    let hot = world.partition();
    run(
        &mut world,
        &[Report(0, 900, vec![takes(hot, 880)])],
        secs(12),
    );
    answer_split(&mut world, hot);
    let table = world.catalog.table("t").unwrap().id;
    let [left, right] = world.catalog.hot_siblings(table)[0];
    let before = world.proposed.len();
    let reports = |of_each| {
        [
            Report(0, 400, vec![takes(left, of_each), takes(right, of_each)]),
            Report(1, 100, vec![]),
        ]
    };
    run(&mut world, &reports(100), secs(60));
    assert!(remedies(&world, before).is_empty(), "still loaded");
    // One of them is being split again: nothing is given back before that is over.
    let partitions = vec![(table, left)];
    world.change(Change::Divide(Divide {
        cause: Cause::Size,
        partitions,
    }));
    run(&mut world, &reports(10), secs(60));
    assert!(remedies(&world, before).is_empty(), "not stable");
}
