use super::{Balance, Held, Holdings, Primaries};
use crate::controller::testing::{World, first, ms};
use brickyard_metadata::{Change, Proposal};
use std::collections::BTreeMap;
use std::time::Duration;

fn primaries(world: &World) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for group in world.groups() {
        *counts.entry(group.primary.member.node.0).or_default() += 1;
    }
    counts
}

fn catch_up(world: &mut World, time: Duration) {
    let until = world.now + time;
    while world.now < until {
        world.promote_all();
        world.run(ms(50));
    }
}

#[test]
fn node_that_came_back_gets_its_primaries_back() {
    let mut world = World::new(3, 3, 64);
    world.run(ms(3_000));
    let before: Vec<_> = world
        .groups()
        .iter()
        .map(|group| group.primary.member)
        .collect();
    assert_eq!(
        primaries(&world),
        BTreeMap::from([(0, 21), (1, 22), (2, 21)])
    );
    world.restart(1);
    world.run(ms(1_000));
    assert_eq!(primaries(&world), BTreeMap::from([(0, 32), (2, 32)]));
    world.run(Duration::from_secs(10));
    assert_eq!(
        primaries(&world).len(),
        2,
        "it does not hold everything yet"
    );
    catch_up(&mut world, Duration::from_secs(10));
    let counts = primaries(&world);
    assert!(
        counts.values().all(|count| (21..=22).contains(count)),
        "{counts:?}"
    );
    // And they are the ones that it had: a brick is one run of slots.
    let after: Vec<_> = world
        .groups()
        .iter()
        .map(|group| group.primary.member)
        .collect();
    let same = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before == after);
    assert!(same.count() >= 60, "{after:?}");
    world.rest();
}

#[test]
fn primaries_move_along_chains() {
    // Each partition is on its node and the next: 0 and 2 share nothing of 0's.
    let mut world = World::new(4, 2, 64);
    world.run(ms(3_000));
    // Whatever 3 could hand to 0, it has, and 0 has nothing of 2's.
    let moved: Vec<Proposal> = {
        let table = world.catalog.table("t").unwrap();
        let of_three = table
            .partitions()
            .filter(|(_, group)| group.primary == first(3));
        of_three
            .map(|(partition, group)| {
                Proposal::of(
                    table.id,
                    partition,
                    group,
                    &[group.backups[0], group.primary],
                )
            })
            .collect()
    };
    world.change(Change::from(moved));
    world.run(ms(1_000));
    assert_eq!(primaries(&world).get(&3), None);
    world.run(Duration::from_secs(10));
    let counts = primaries(&world);
    assert!(
        counts.len() == 4 && counts.values().all(|count| *count == 16),
        "{counts:?}"
    );
    world.rest();
}

#[test]
fn each_step_is_small_and_waits_for_the_one_before() {
    let mut world = World::new(3, 3, 64);
    world.config.balance_step = 4;
    world.elect();
    world.run(ms(3_000));
    world.restart(1);
    world.run(ms(1_000));
    catch_up(&mut world, ms(3_000));
    let before = world.proposed.len();
    world.run(Duration::from_secs(15));
    let mut steps = 0;
    for change in &world.proposed[before..] {
        if let Change::Decide(decisions) = change
            && !decisions.proposals.is_empty()
        {
            steps += 1;
            assert!(decisions.proposals.len() <= 5, "{decisions:?}");
        }
    }
    assert!(steps >= 3);
    assert!(
        primaries(&world)
            .values()
            .all(|count| (21..=22).contains(count))
    );
    world.rest();
}

/// Whoever is relieved gives what is at home there first, and last what is at home where it is.
#[test]
fn partition_goes_home_before_another_and_leaves_home_last() {
    let world = World::new(3, 3, 4);
    let table = world.catalog.table("t").unwrap();
    let (from, to) = (first(0).member, first(1).member);
    let groups = table.partitions().map(|(partition, _)| Held {
        partition,
        primary: from,
        in_sync: vec![first(0), first(1)],
        is_moved: false,
    });
    let groups: Vec<Held> = groups.take(3).collect();
    let order = [2, 1, 0].map(|leaf| groups[leaf].partition);
    let mut primaries = Primaries {
        groups,
        counts: BTreeMap::from([(from, 3)]),
        homes: vec![Some(from), Some(first(2).member), Some(to)],
    };
    for (moved, partition) in (1..).zip(order) {
        let proposal = primaries.hand_over(table, from, to).unwrap();
        assert_eq!(
            (proposal.partition, proposal.primary),
            (partition, first(1))
        );
        assert_eq!(
            (primaries.counts[&from], primaries.counts[&to]),
            (3 - moved, moved)
        );
    }
    assert_eq!(primaries.hand_over(table, from, to), None);
}

#[test]
fn brick_that_leaves_is_given_no_partition_to_lead_though_the_plan_has_it_first() {
    let mut world = World::new(3, 3, 4);
    world.run(ms(3_000));
    let lead_as_planned = |world: &World| {
        let view = world.controller.view(world.now);
        let balance = Balance {
            catalog: &world.catalog,
            view: &view,
            placement: &world.controller.placement,
            hot: &world.controller.hot,
            holdings: &Holdings::of(&world.catalog),
        };
        balance.lead_as_planned(world.catalog.table("t").unwrap(), 9)
    };
    let group = world.group();
    world.propose(&[group.backups[0], group.backups[1], group.primary]);
    world.run_until(World::is_settled);
    // Whoever is first in the plan and does not lead.
    let planned = lead_as_planned(&world)[0].primary.member;
    let ask = crate::message::DrainAsk {
        node: planned.node,
        incarnation: world.nodes[planned.node.0 as usize].incarnation,
    };
    world.controller.on_drain(world.now, ask, world.log);
    let proposals = lead_as_planned(&world);
    assert!(proposals.iter().all(|it| it.primary.member != planned));
}
