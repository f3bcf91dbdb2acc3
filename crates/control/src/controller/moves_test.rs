use crate::controller::testing::{World, first, ms};
use brickyard_metadata::{Change, Decisions, Ground, NodeAlteration};
use brickyard_routing::{Member, NodeId, Replica};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn held(world: &World) -> BTreeMap<u32, usize> {
    let groups = world.groups();
    let members = groups
        .iter()
        .flat_map(|group| group.in_sync().collect::<Vec<_>>());
    count(members)
}

fn led(world: &World) -> BTreeMap<u32, usize> {
    count(world.groups().iter().map(|group| group.primary))
}

fn count(replicas: impl Iterator<Item = Replica>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for replica in replicas {
        *counts.entry(replica.member.node.0).or_default() += 1;
    }
    counts
}

/// What the controller decided since `from`.
fn decided(world: &World, from: usize) -> impl Iterator<Item = &Decisions> {
    world.proposed[from..].iter().filter_map(|it| match it {
        Change::Decide(decisions) => Some(decisions),
        _ => None,
    })
}

/// Learners of the test's table that were begun since `from`.
fn begun(world: &World, from: usize) -> usize {
    let begun = decided(world, from).flat_map(|it| &it.learners);
    begun.map(|it| it.learners.len()).sum()
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

fn weight(node: u32, weight: u32) -> Change {
    Change::AlterNode {
        node: NodeId(node),
        alteration: NodeAlteration {
            weight: Some(weight),
            ..NodeAlteration::default()
        },
    }
}

#[test]
fn joining_node_gets_its_share_and_no_copy_is_missing_meanwhile() {
    let mut world = World::new(3, 2, 64);
    world.run(ms(3_000));
    let before = world.proposed.len();
    world.join();
    catch_up(&mut world, Duration::from_secs(15), 2);
    assert_eq!(
        held(&world),
        BTreeMap::from([(0, 32), (1, 32), (2, 32), (3, 32)])
    );
    assert_eq!(
        led(&world),
        BTreeMap::from([(0, 16), (1, 16), (2, 16), (3, 16)])
    );
    assert_eq!(begun(&world, before), 32, "no more than it takes");
    for decisions in decided(&world, before) {
        for it in &decisions.proposals {
            let copies = it.in_sync().count();
            assert!(
                copies == 2 || it.ground == Ground::Promotion,
                "{it:?}: writes wait once more"
            );
        }
    }
    assert!(
        decided(&world, before).any(|it| !it.settled.is_empty() && it.settled.len() < it.count()),
        "what is ready waits for what is not"
    );
    world.rest();
}

#[test]
fn next_leader_goes_on_where_the_last_one_was() {
    let mut world = World::new(3, 2, 64);
    world.config.learners_per_brick = 2;
    world.elect();
    world.run(ms(3_000));
    let before = world.proposed.len();
    world.join();
    let mut leaders = 0;
    while held(&world).get(&3) != Some(&32) {
        catch_up(&mut world, ms(1_800), 2);
        world.elect();
        leaders += 1;
        assert!(leaders < 100, "{:?}", held(&world));
    }
    catch_up(&mut world, Duration::from_secs(10), 2);
    assert!(leaders > 3);
    assert_eq!(begun(&world, before), 32);
    assert_eq!(
        held(&world),
        BTreeMap::from([(0, 32), (1, 32), (2, 32), (3, 32)])
    );
}

#[test]
fn nothing_moves_while_it_is_paused_or_a_copy_is_missing() {
    let mut world = World::new(4, 2, 64);
    world.run(ms(3_000));
    world.change(Change::PauseMoves(true));
    world.change(weight(1, 3));
    let before = world.proposed.len();
    world.run(Duration::from_secs(5));
    assert_eq!(begun(&world, before), 0);
    // What is missing is made all the same.
    world.restart(2);
    world.run(ms(1_000));
    let learning = world.groups();
    assert!(learning.iter().any(|it| !it.learners.is_empty()));
    catch_up(&mut world, Duration::from_secs(5), 1);
    let before = world.proposed.len();
    world.run(Duration::from_secs(5));
    assert_eq!(begun(&world, before), 0);
    world.nodes[3].is_up = false;
    world.run(ms(3_000));
    world.change(Change::PauseMoves(false));
    world.run(Duration::from_secs(5));
    assert_eq!(
        begun(&world, before),
        0,
        "copies of the node that is down are missing"
    );
    world.nodes[3].is_up = true;
    catch_up(&mut world, Duration::from_secs(20), 1);
    assert!(begun(&world, before) > 0);
    let counts = held(&world);
    assert!(
        counts.values().sum::<usize>() == 128 && counts[&1] == 64,
        "{counts:?}"
    );
}

#[test]
fn few_are_learned_at_a_time() {
    let mut world = World::new(3, 2, 64);
    world.config.learners_per_brick = 5;
    world.elect();
    world.run(ms(3_000));
    world.join();
    world.run(ms(3_000));
    let learning = world
        .groups()
        .iter()
        .map(|it| it.learners.len())
        .sum::<usize>();
    assert_eq!(learning, 5);
    catch_up(&mut world, Duration::from_secs(20), 2);
    assert_eq!(held(&world)[&3], 32);
}

#[test]
fn drained_node_hands_its_primaries_over_before_it_is_copied() {
    let mut world = World::new(4, 2, 64);
    world.run(ms(3_000));
    let before = world.proposed.len();
    world.change(Change::DrainNode {
        node: NodeId(1),
        force: false,
    });
    // Nobody catches up.
    world.run(Duration::from_secs(3));
    assert_eq!(led(&world).get(&1), None);
    assert_eq!(held(&world)[&1], 32);
    catch_up(&mut world, Duration::from_secs(15), 2);
    assert_eq!(held(&world).get(&1), None);
    assert_eq!(begun(&world, before), 32);
    for counts in [held(&world), led(&world)] {
        let (least, most) = (counts.values().min(), counts.values().max());
        assert!(most.unwrap() - least.unwrap() <= 1, "{counts:?}");
    }
    world.rest();
}

#[test]
fn successor_takes_over_exactly_what_the_other_had() {
    let mut world = World::new(3, 2, 64);
    // Also what has to wait until it has learned something else.
    world.config.learners_per_brick = 5;
    world.elect();
    world.run(ms(3_000));
    world.change(Change::PauseMoves(true));
    let new = world.join();
    let its = |world: &World, node: u32| -> BTreeSet<usize> {
        let groups = world.groups();
        let on = |member: Member| member.node == NodeId(node);
        let held = groups.iter().enumerate();
        held.filter(|(_, group)| group.in_sync().any(|it| on(it.member)))
            .map(|(leaf, _)| leaf)
            .collect()
    };
    let before = its(&world, 1);
    let others = [its(&world, 0), its(&world, 2)];
    // Pauses do not hold up what an operator asked for.
    world.change(Change::ReplaceNode {
        old: NodeId(1),
        new: new.member.node,
    });
    catch_up(&mut world, Duration::from_secs(20), 2);
    assert_eq!(its(&world, 3), before);
    assert_eq!(its(&world, 1), BTreeSet::new());
    assert_eq!([its(&world, 0), its(&world, 2)], others);
}

#[test]
fn copies_and_primaries_follow_weights() {
    let mut world = World::new(4, 2, 128);
    world.run(ms(3_000));
    for (node, of) in [(0, 1), (1, 1), (2, 2), (3, 4)] {
        world.change(weight(node, of));
    }
    catch_up(&mut world, Duration::from_secs(30), 2);
    assert_eq!(
        held(&world),
        BTreeMap::from([(0, 32), (1, 32), (2, 64), (3, 128)])
    );
    assert_eq!(
        led(&world),
        BTreeMap::from([(0, 16), (1, 16), (2, 32), (3, 64)])
    );
    world.rest();
}

#[test]
fn learner_that_is_not_wanted_any_more_is_dropped() {
    let mut world = World::new(3, 2, 64);
    world.run(ms(3_000));
    world.join();
    world.run(ms(2_000));
    assert!(world.groups().iter().any(|it| it.learners == [first(3)]));
    world.change(weight(3, 0));
    world.run(ms(2_000));
    assert!(world.groups().iter().all(|it| it.learners.is_empty()));
    assert_eq!(held(&world).get(&3), None);
}
