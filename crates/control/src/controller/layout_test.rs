use crate::controller::testing::{World, ms};
use brickyard_metadata::{Alteration, Change, LayoutAlteration};
use brickyard_routing::{Member, NodeId};
use brickyard_types::Placement;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn lay_out(layout: LayoutAlteration) -> Change {
    Change::AlterTable {
        name: "t".to_owned(),
        alteration: Alteration {
            layout,
            ..Alteration::default()
        },
    }
}

fn to_nodes(nodes: &[u32]) -> Change {
    lay_out(LayoutAlteration {
        nodes: Some(nodes.iter().copied().map(NodeId).collect()),
        ..LayoutAlteration::default()
    })
}

fn placed(placement: Placement) -> Change {
    lay_out(LayoutAlteration {
        placement: Some(placement),
        ..LayoutAlteration::default()
    })
}

/// Copies on each node, and primaries.
fn counts(world: &World) -> [BTreeMap<u32, usize>; 2] {
    let mut counts = [BTreeMap::new(), BTreeMap::new()];
    for group in world.groups() {
        for replica in group.in_sync() {
            *counts[0].entry(replica.member.node.0).or_default() += 1;
        }
        *counts[1].entry(group.primary.member.node.0).or_default() += 1;
    }
    counts
}

/// Learners catch up at once, and no partition ever has fewer copies than `least`.
#[track_caller]
fn catch_up(world: &mut World, time: Duration, least: usize) {
    let until = world.now + time;
    while world.now < until {
        world.promote_all();
        world.run(ms(50));
        for group in world.groups() {
            assert!(group.in_sync().count() >= least, "{group:?}");
        }
    }
}

/// Members by partition, the primary first, the others in order.
fn members(world: &World) -> Vec<Vec<Member>> {
    let of = |group: &brickyard_routing::Group| {
        let mut members: Vec<Member> = group.in_sync().map(|replica| replica.member).collect();
        members[1..].sort();
        members
    };
    world.groups().iter().map(of).collect()
}

#[test]
fn table_moves_to_the_nodes_that_it_names_with_all_its_copies_unless_moves_are_paused() {
    let mut world = World::new(5, 2, 64);
    world.run(ms(3_000));
    let before = counts(&world);
    world.change(Change::PauseMoves(true));
    world.change(to_nodes(&[1, 3, 4]));
    catch_up(&mut world, Duration::from_secs(5), 2);
    assert_eq!(counts(&world), before);
    world.change(Change::PauseMoves(false));
    catch_up(&mut world, Duration::from_secs(2), 2);
    // Another leader goes on.
    world.elect();
    catch_up(&mut world, Duration::from_secs(20), 2);
    for counts in counts(&world) {
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [1, 3, 4]);
        let (least, most) = (counts.values().min(), counts.values().max());
        assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
    }
    world.rest();
    world.change(to_nodes(&[]));
    catch_up(&mut world, Duration::from_secs(20), 2);
    assert_eq!(counts(&world)[0].len(), 5);
    world.rest();
}

#[test]
fn copy_of_a_lost_node_is_made_on_nodes_that_the_table_names_or_nowhere() {
    let mut world = World::new(4, 2, 16);
    world.run(ms(3_000));
    world.change(to_nodes(&[0, 1]));
    catch_up(&mut world, Duration::from_secs(20), 2);
    world.nodes[1].is_up = false;
    catch_up(&mut world, Duration::from_secs(60), 1);
    let [copies, primaries] = counts(&world);
    assert_eq!(copies, BTreeMap::from([(0, 16)]));
    assert_eq!(primaries, copies);
    // As soon as another one may hold them.
    world.change(to_nodes(&[0, 1, 2]));
    catch_up(&mut world, Duration::from_secs(20), 1);
    assert_eq!(counts(&world)[0], BTreeMap::from([(0, 16), (2, 16)]));
}

#[test]
fn ring_is_where_partitions_come_to_be_and_who_leads_them() {
    let mut world = World::new(4, 2, 64);
    world.run(ms(3_000));
    world.change(placed(Placement::Ring { points: 4 }));
    catch_up(&mut world, Duration::from_secs(2), 2);
    world.elect();
    catch_up(&mut world, Duration::from_secs(30), 2);
    let plan = world.catalog.plan(&BTreeSet::new());
    let table = world.catalog.table("t").unwrap();
    for (partition, group) in table.partitions() {
        assert_eq!(Some(&group.primary.member), plan.target(partition).first());
    }
    let [copies, primaries] = counts(&world);
    assert!(copies.values().max() > copies.values().min().map(|it| it + 4).as_ref());
    assert_ne!(primaries.values().max(), primaries.values().min());
    world.rest();
    // Nothing goes from one of the old nodes to another one when a node joins.
    let before = members(&world);
    world.join();
    catch_up(&mut world, Duration::from_secs(30), 2);
    for (before, after) in before.iter().zip(members(&world)) {
        let come = after.iter().filter(|it| !before.contains(it));
        assert!(come.into_iter().all(|it| it.node == NodeId(4)));
    }
    assert!(counts(&world)[0].contains_key(&4));
    world.rest();
    // A node that came back leads what it led: nobody evens primaries out.
    let settled = members(&world);
    world.restart(2);
    catch_up(&mut world, Duration::from_secs(30), 1);
    assert_eq!(members(&world), settled);
    world.change(placed(Placement::Even));
    catch_up(&mut world, Duration::from_secs(30), 2);
    for counts in counts(&world) {
        let (least, most) = (counts.values().min(), counts.values().max());
        assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
    }
    world.rest();
}
