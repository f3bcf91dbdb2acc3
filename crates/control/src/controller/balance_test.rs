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
