use crate::controller::testing::{TABLE, World, first, ms, replica};
use crate::message::{DrainAsk, EvictAsk, LogSummary, ToNode};
use brickyard_metadata::{Alteration, Change, NewLearners, NodeAlteration};
use brickyard_routing::NodeId;
use brickyard_types::{BrickId, View};
use std::collections::BTreeSet;
use std::time::Duration;

fn replicas(count: u8) -> Change {
    Change::AlterTable {
        name: "t".to_owned(),
        alteration: Alteration {
            replicas: Some(count),
            ..Alteration::default()
        },
    }
}

fn weight(node: u32, weight: u32) -> Change {
    Change::AlterNode {
        node: NodeId(node),
        alteration: NodeAlteration {
            weight: Some(weight),
            ..NodeAlteration::default()
        },
    }
}

/// Everybody catches up as soon as it learns, for that long.
fn catch_up(world: &mut World, time: Duration) {
    let until = world.now + time;
    while world.now < until {
        world.promote_all();
        world.run(ms(50));
    }
}

fn drain(world: &mut World, node: u32) -> crate::message::Drained {
    let ask = DrainAsk {
        node: NodeId(node),
        incarnation: world.nodes[node as usize].incarnation,
    };
    world.controller.on_drain(world.now, ask, world.log);
    world.run(ms(50));
    let drained = world
        .sent
        .iter()
        .rev()
        .find_map(|(_, message)| match message {
            ToNode::Drained(drained) => Some(*drained),
            _ => None,
        });
    drained.unwrap()
}

#[test]
fn node_is_not_empty_while_it_may_be_given_something() {
    let mut world = World::new(3, 2, 1);
    world.run(ms(3_000));
    let held = world.in_sync();
    let spare = (0..3).find(|node| !held.contains(&first(*node))).unwrap();
    world.change(replicas(3));
    world.run_until(|world| world.group().learners == [first(spare)]);
    let ask = DrainAsk {
        node: NodeId(spare),
        incarnation: world.nodes[spare as usize].incarnation,
    };
    let before = world.controller.drained(world.now, ask).remaining;
    // A view with it is proposed, of which it may not have heard when it is told to stop.
    world.promote(first(spare));
    world.run_until(|world| !world.is_settled());
    let proposed = world.controller.drained(world.now, ask).remaining;
    assert_eq!(proposed, before + 1);
}

#[test]
fn node_is_not_empty_while_something_is_decided_that_was_thought_of_before() {
    let mut world = World::new(3, 1, 1);
    world.run(ms(3_000));
    let holder = world.in_sync()[0].member.node.0;
    // Node 0 has the default table.
    let spare = (1..3).find(|node| *node != holder).unwrap();
    world.log.proposed += 2;
    assert_eq!(drain(&mut world, spare).remaining, 1);
    world.log.applied += 1;
    assert_eq!(drain(&mut world, spare).remaining, 1);
    world.log.applied += 1;
    world.log.proposed += 1;
    assert_eq!(
        drain(&mut world, spare).remaining,
        0,
        "that one is thought of with it in mind"
    );
}

#[test]
fn more_replicas_are_learned_then_promoted() {
    let mut world = World::new(3, 1, 8);
    world.run(ms(3_000));
    world.change(replicas(3));
    world.run(ms(1_000));
    for group in world.groups() {
        assert_eq!((group.view, group.learners.len()), (View(1), 2));
    }
    catch_up(&mut world, ms(3_000));
    for group in world.groups() {
        let nodes: BTreeSet<NodeId> = group.in_sync().map(|replica| replica.member.node).collect();
        assert_eq!((nodes.len(), group.learners.len()), (3, 0));
    }
}

#[test]
fn fewer_replicas_are_dropped_evenly_and_never_the_primary() {
    let mut world = World::new(4, 3, 8);
    world.run(ms(3_000));
    let primaries: Vec<_> = world.groups().iter().map(|group| group.primary).collect();
    world.change(replicas(2));
    world.run(ms(3_000));
    let groups = world.groups();
    assert!(groups.iter().all(|group| group.backups.len() == 1));
    assert_eq!(
        groups.iter().map(|group| group.primary).collect::<Vec<_>>(),
        primaries
    );
    for node in 0..4 {
        let held = groups
            .iter()
            .flat_map(|group| group.in_sync().collect::<Vec<_>>());
        let held = held.filter(|it| *it == first(node)).count();
        // The default table has one more on node 0.
        assert!((3..=5).contains(&held), "node {node} holds {held}");
    }
}

#[test]
fn node_that_comes_back_learns_what_it_held_at_once() {
    let mut world = World::new(4, 3, 1);
    world.run(ms(3_000));
    let lost = world.in_sync()[1];
    let node = lost.member.node.0;
    world.nodes[node as usize].is_up = false;
    world.run_until(|world| world.group().view == View(2));
    world.run(ms(2_000));
    // Named in the life that is over, it keeps what its log has.
    assert_eq!(world.group().learners, [lost]);
    world.nodes[node as usize].summaries = vec![LogSummary {
        is_complete: true,
        ..world.summary((1, 9))
    }];
    let again = world.restart(node);
    world.run(ms(1_000));
    assert_eq!(world.group().learners, [again]);
}

#[test]
fn node_that_stays_away_is_replaced() {
    let mut world = World::new(4, 3, 1);
    world.run(ms(3_000));
    let members: BTreeSet<u32> = world
        .in_sync()
        .iter()
        .map(|replica| replica.member.node.0)
        .collect();
    let spare = (0..4).find(|node| !members.contains(node)).unwrap();
    let lost = world.in_sync()[1].member.node.0;
    world.nodes[lost as usize].is_up = false;
    world.run(Duration::from_secs(20));
    assert_eq!(world.group().learners, [first(lost)], "its place is kept");
    world.run(Duration::from_secs(15));
    assert_eq!(world.group().learners, [first(spare)]);
    // And a learner that fails is waited for as long.
    world.nodes[spare as usize].is_up = false;
    world.run(ms(3_000));
    assert_eq!(world.group().learners, [first(spare)]);
    world.run(Duration::from_secs(40));
    assert_eq!(world.group().learners, []);
}

#[test]
fn copies_go_to_other_zones() {
    let mut world = World::new(4, 1, 4);
    for (node, zone) in ["a", "a", "b", "b"].into_iter().enumerate() {
        world.change(Change::AlterNode {
            node: NodeId(node as u32),
            alteration: NodeAlteration {
                zone: Some(Some(zone.to_owned())),
                ..NodeAlteration::default()
            },
        });
    }
    world.run(ms(3_000));
    world.change(replicas(2));
    catch_up(&mut world, ms(3_000));
    for group in world.groups() {
        let zones: BTreeSet<u32> = group
            .in_sync()
            .map(|replica| replica.member.node.0 / 2)
            .collect();
        assert_eq!(zones.len(), 2, "{group:?}");
    }
}

#[test]
fn copies_are_even_and_bricks_have_few_partners() {
    let mut world = World::new(4, 1, 64);
    world.run(ms(3_000));
    world.change(replicas(2));
    catch_up(&mut world, ms(5_000));
    let mut partners = BTreeSet::new();
    for group in world.groups() {
        assert_eq!(group.backups.len(), 1);
        partners.insert((group.primary, group.backups[0]));
    }
    for node in 0..4 {
        let groups = world.groups();
        let held = groups
            .iter()
            .filter(|group| group.in_sync().any(|it| it == first(node)));
        let held = held.count() as i32;
        // The default table has one more on node 0.
        assert!((held - 32).abs() <= 2, "node {node} holds {held}");
    }
    assert!(partners.len() <= 8, "{} pairs of bricks", partners.len());
}

#[test]
fn one_brick_learns_so_much_at_a_time() {
    let mut world = World::new(2, 1, 64);
    world.config.learners_per_brick = 5;
    world.elect();
    world.run(ms(3_000));
    world.change(replicas(2));
    world.run(ms(3_000));
    let learning = world
        .groups()
        .iter()
        .filter(|group| !group.learners.is_empty())
        .count();
    assert_eq!(learning, 10);
    catch_up(&mut world, Duration::from_secs(10));
    assert!(world.groups().iter().all(|group| group.backups.len() == 1));
}

/// A copy that cannot be made, because the log of the one who has it is damaged, may be so for ever.
#[test]
fn what_cannot_be_copied_holds_up_nothing_else() {
    let mut world = World::new(3, 1, 16);
    world.config.learners_per_brick = 1;
    world.elect();
    world.run(ms(3_000));
    world.change(replicas(2));
    world.run(ms(1_000));
    let learning = |world: &World| {
        let table = world.catalog.table("t").unwrap();
        let asks = table.partitions().filter(|(_, it)| !it.learners.is_empty());
        let asks = asks.map(|(partition, group)| EvictAsk {
            table: TABLE,
            partition,
            view: group.view,
            primary: group.primary,
            backup: group.primary,
            has_withdrawn: false,
        });
        asks.collect::<Vec<_>>()
    };
    let damaged = learning(&world);
    assert_eq!(damaged.len(), 3, "one on each node");
    for ask in &damaged {
        world.controller.on_evict(*ask);
    }
    world.run(ms(1_000));
    assert_eq!(learning(&world).len(), 6);
    let stuck: BTreeSet<_> = damaged.iter().map(|it| it.partition).collect();
    let go_on = |world: &mut World| {
        let until = world.now + Duration::from_secs(10);
        while world.now < until {
            world.promote_all_but(&stuck);
            world.run(ms(50));
        }
    };
    go_on(&mut world);
    let groups = world.groups();
    let alone = groups.iter().filter(|it| it.backups.is_empty()).count();
    assert_eq!(alone, 3);
    let moves = |world: &World| {
        let moves = world.catalog.plan(&BTreeSet::new()).moves(&world.catalog);
        let moves = moves
            .into_iter()
            .filter(|it| !it.is_hand_over && !stuck.contains(&it.partition));
        moves.collect::<Vec<_>>()
    };
    world.change(weight(2, 3));
    assert!(!moves(&world).is_empty());
    go_on(&mut world);
    assert_eq!(moves(&world), []);
}

#[test]
fn node_without_weight_is_emptied() {
    let mut world = World::new(4, 2, 8);
    world.run(ms(3_000));
    world.change(weight(1, 0));
    catch_up(&mut world, Duration::from_secs(5));
    for group in world.groups() {
        assert!(
            group
                .members()
                .all(|replica| replica.member.node != NodeId(1)),
            "{group:?}"
        );
        assert_eq!(group.backups.len(), 1);
    }
    assert!(world.is_settled());
}

#[test]
fn node_that_drains_loses_its_partitions_and_learns_none() {
    let mut world = World::new(3, 3, 8);
    world.run(ms(3_000));
    let drained = drain(&mut world, 1);
    assert_eq!((drained.remaining, drained.sole), (8, 0));
    for _ in 0..10 {
        world.run(ms(250));
        drain(&mut world, 1);
    }
    assert_eq!(drain(&mut world, 1).remaining, 0);
    for group in world.groups() {
        assert!(
            group
                .members()
                .all(|replica| replica.member.node != NodeId(1))
        );
        assert_eq!(group.in_sync().count(), 2);
    }
    // It changed its mind, or has stopped asking: it gets everything back.
    catch_up(&mut world, Duration::from_secs(10));
    assert!(
        world
            .groups()
            .iter()
            .all(|group| group.in_sync().count() == 3)
    );
}

#[test]
fn leader_that_stops_hands_the_lead_over_when_it_holds_nothing_more() {
    let mut world = World::new(3, 3, 8);
    world.run(ms(3_000));
    assert!(drain(&mut world, 0).remaining > 0);
    let mut steps = 0;
    while drain(&mut world, 0).remaining > 0 {
        assert!(world.transfers.is_empty(), "after {steps} steps");
        world.run(ms(10));
        steps += 1;
    }
    world.run(ms(250));
    assert_eq!(world.transfers, [NodeId(1)]);
}

#[test]
fn drain_leaves_a_backup_that_writes_need() {
    let mut world = World::with(2, 2, 2, |attributes| attributes.min_in_sync = 2);
    world.run(ms(3_000));
    for _ in 0..5 {
        drain(&mut world, 1);
        world.run(ms(250));
    }
    assert_eq!(drain(&mut world, 1).remaining, 0);
    for group in world.groups() {
        assert_eq!((group.primary, group.backups), (first(0), vec![first(1)]));
    }
}

#[test]
fn what_only_nodes_that_stop_hold_is_copied_to_others_first() {
    let mut world = World::new(3, 2, 8);
    world.config.learners_per_brick = 1;
    world.elect();
    world.run(ms(3_000));
    while drain(&mut world, 1).remaining > 0 {
        world.run(ms(50));
    }
    world.nodes[1].is_up = false;
    world.run(ms(300));
    let holds =
        |group: &brickyard_routing::Group, node| group.in_sync().any(|it| it == first(node));
    assert!(
        !world.groups().iter().all(|group| holds(group, 0)),
        "or there is nothing to be copied"
    );
    let until = world.now + ms(2_000);
    while drain(&mut world, 2).remaining > 0 {
        assert!(world.now < until);
        world.promote_all();
        world.run(ms(50));
    }
    assert_eq!(drain(&mut world, 2).sole, 0);
    for group in world.groups() {
        assert_eq!((group.primary, group.backups), (first(0), vec![]));
    }
}

#[test]
fn drain_tells_what_nobody_else_holds() {
    let mut world = World::new(2, 1, 8);
    world.run(ms(3_000));
    // And the default table's only partition.
    let drained = drain(&mut world, 0);
    assert_eq!((drained.remaining, drained.sole), (0, 5));
    assert!(world.is_settled());
}

#[test]
fn drained_life_is_over_with_the_next_registration() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    drain(&mut world, 1);
    world.run(ms(500));
    let again = world.restart(1);
    world.run(ms(1_000));
    assert_eq!(world.group().learners, [again]);
    assert_eq!(replica(1, 4).member.brick, BrickId(0));
}

#[test]
fn copy_too_many_goes_though_writes_need_all_that_are_left() {
    let mut world = World::with(3, 3, 1, |it| it.min_in_sync = 2);
    world.run(ms(3_000));
    world.change(replicas(2));
    world.run(ms(5_000));
    assert_eq!(world.in_sync().len(), 2);
    world.rest();
}

#[test]
fn learner_that_the_plan_has_stays_before_others() {
    let mut world = World::new(4, 2, 1);
    world.run(ms(3_000));
    world.change(replicas(3));
    world.run_until(|world| !world.group().learners.is_empty());
    let planned = world.group().learners[0];
    let members = world.in_sync();
    let mut others = (0..4).map(first);
    let other = others.find(|it| *it != planned && !members.contains(it));
    let (other, group) = (other.unwrap(), world.group());
    let learners = |learners| {
        Change::from(vec![NewLearners {
            table: TABLE,
            partition: world.partition(),
            view: group.view,
            learners,
        }])
    };
    let both = learners(vec![other, planned]);
    world.change(both);
    world.run(ms(3_000));
    assert_eq!(world.group().learners, [planned]);
}

/// Or it would drop what it has when it hears of the view in which it is nobody, and be copied everything.
#[test]
fn node_that_is_back_before_its_former_life_is_let_go_is_named_all_the_time() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    let member = world.in_sync()[1].member;
    let again = world.restart(member.node.0);
    world.run_until(|world| {
        let group = world.group();
        let change = group.change.as_deref();
        let names = group.members().any(|it| it.member == member)
            || change.is_some_and(|it| it.learners.contains(&again));
        assert!(names, "{group:?}");
        group.learners == [again]
    });
    assert_eq!(world.group().view, View(2));
}
