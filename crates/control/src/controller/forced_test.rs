//! Rule `forced recovery begins a generation`, as far as the leader decides it.

use crate::controller::testing::{World, first, ms, replica};
use brickyard_metadata::{Change, Recovery};
use brickyard_types::{Durability, PartitionId, View};

fn recovery(is_confirmed: bool) -> Recovery {
    Recovery {
        table: "t".to_owned(),
        partitions: Vec::new(),
        is_confirmed,
    }
}

/// Both members are gone; the first comes back with a log that may lack its end.
fn world(summaries: bool) -> World {
    let mut world = World::with(3, 2, 1, |attributes| {
        attributes.durability = Durability::Log
    });
    world.run(ms(3_000));
    let members: Vec<u32> = world
        .in_sync()
        .iter()
        .map(|replica| replica.member.node.0)
        .collect();
    for node in &members {
        world.nodes[*node as usize].is_up = false;
    }
    world.run(ms(5_000));
    let mut summary = world.summary((7, 12));
    summary.is_tail_sure = false;
    world.nodes[members[0] as usize].summaries = if summaries { vec![summary] } else { Vec::new() };
    world.restart(members[0]);
    world.run(ms(3_000));
    assert_eq!(world.group().view, View(1), "{:?}", world.group());
    world
}

/// What the operator is told, once the bricks were heard.
fn outcome(world: &mut World, is_confirmed: bool) -> Result<Change, String> {
    for _ in 0..20 {
        let now = world.now;
        let outcome = world
            .controller
            .admit(now, Change::Recover(recovery(is_confirmed)));
        match outcome {
            Err(text) if text.contains("being asked") => world.run(ms(300)),
            outcome => return outcome,
        }
    }
    panic!("the bricks are never heard");
}

#[test]
fn loss_is_told_first_and_nothing_is_done_before_it_is_confirmed() {
    let mut world = world(true);
    let text = outcome(&mut world, false).unwrap_err();
    assert!(text.starts_with("nothing was done"), "{text}");
    for part in [
        "view 7 op 12",
        "may be missing",
        "no answer from",
        "CONFIRM t",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    world.run(ms(3_000));
    assert_eq!(world.group().view, View(1));
}

#[test]
fn confirmed_recovery_begins_a_new_generation_above_all_views() {
    let mut world = world(true);
    let member = world.group().primary.member.node.0;
    let change = outcome(&mut world, true).unwrap();
    world.change(change);
    world.run(ms(3_000));
    let group = world.group();
    assert!(group.view > View(7), "{group:?}");
    assert_eq!((group.generation, group.change), (2, None));
    assert_eq!(group.primary.member.node.0, member);
    assert!(group.primary > first(member), "in its present life");
    assert_ne!(group.primary, replica(member, 1));
    // It is served now: there is nothing to recover.
    let text = outcome(&mut world, true).unwrap_err();
    assert!(text.contains("no partition that is not served"), "{text}");
}

/// The recovered partition's only member stopped before it wrote anything of the new history.
#[test]
fn recovered_partition_goes_on_when_its_primary_stops_before_the_first_record() {
    for is_sure in [true, false] {
        let mut world = world(true);
        let change = outcome(&mut world, true).unwrap();
        world.change(change);
        world.run(ms(3_000));
        let recovered = world.group();
        let node = recovered.primary.member.node.0;
        let mut summary = world.summary((7, 12));
        summary.is_tail_sure = is_sure;
        world.nodes[node as usize].summaries = vec![summary];
        world.restart(node);
        world.run(ms(3_000));
        if is_sure {
            assert!(world.group().view > recovered.view, "{:?}", world.group());
            assert_eq!(world.group().generation, 2);
            continue;
        }
        // A copy of the new history may have been at its end: that is for the operator to say again.
        assert_eq!(world.group().view, recovered.view);
        let text = outcome(&mut world, false).unwrap_err();
        assert!(
            text.contains("history before an earlier recovery"),
            "{text}"
        );
        let change = outcome(&mut world, true).unwrap();
        world.change(change);
        world.run(ms(3_000));
        let group = world.group();
        assert_eq!((group.generation, &group.change), (3, &None));
        assert!(group.view > recovered.view, "{group:?}");
    }
}

#[test]
fn partition_of_which_nothing_is_left_begins_empty_and_that_is_said() {
    let mut world = world(false);
    let text = outcome(&mut world, false).unwrap_err();
    assert!(text.contains("begins EMPTY"), "{text}");
    let change = outcome(&mut world, true).unwrap();
    world.change(change);
    world.run(ms(3_000));
    assert_eq!(world.group().generation, 2);
    assert!(world.is_settled());
}

#[test]
fn logs_with_gaps_are_not_gone_on_from() {
    let mut world = world(true);
    let node = world.group().primary.member.node.0;
    let mut summary = world.summary((1, 40));
    summary.is_complete = false;
    world.nodes[node as usize].summaries = vec![summary];
    world.restart(node);
    world.run(ms(3_000));
    let text = outcome(&mut world, true).unwrap_err();
    assert!(text.contains("has gaps"), "{text}");
    assert_eq!(world.group().view, View(1));
}

#[test]
fn what_a_brick_said_before_it_was_copied_to_does_not_count() {
    let mut world = world(true);
    let node = world.group().primary.member.node.0;
    let now = world.now;
    // It has told the operator of a whole log once. That was long ago.
    outcome(&mut world, false).unwrap_err();
    assert!(world.now > now);
    let mut summary = world.summary((7, 12));
    summary.is_complete = false;
    world.nodes[node as usize].summaries = vec![summary];
    world.run(ms(20_000));
    let text = outcome(&mut world, true).unwrap_err();
    assert!(text.contains("has gaps"), "{text}");
    assert_eq!(world.group().view, View(1));
}

/// Between two questions the partition was served, and its brick copied to.
#[test]
fn what_a_brick_said_before_the_partition_was_served_does_not_count() {
    let mut world = world(true);
    let (back, gone) = {
        let nodes: Vec<u32> = world.in_sync().iter().map(|it| it.member.node.0).collect();
        (nodes[0] as usize, nodes[1] as usize)
    };
    outcome(&mut world, false).unwrap_err();
    world.nodes[gone].is_up = true;
    world.run(ms(1_000));
    assert!(world.in_sync().contains(&first(gone as u32)));
    let mut summary = world.summary((7, 12));
    summary.is_complete = false;
    world.nodes[back].summaries = vec![summary];
    world.nodes[gone].is_up = false;
    world.run(ms(4_000));
    let text = outcome(&mut world, true).unwrap_err();
    assert!(text.contains("has gaps"), "{text}");
}

#[test]
fn brick_with_a_part_of_an_earlier_copy_does_not_begin_empty() {
    let mut world = world(false);
    let members: Vec<u32> = world.in_sync().iter().map(|it| it.member.node.0).collect();
    let other = (0..3).find(|node| !members.contains(node)).unwrap();
    world.nodes[members[0] as usize].is_up = false;
    world.run(ms(5_000));
    // All that is left is a copy that was not finished, from when that brick was to be a replica.
    let mut summary = world.summary((1, 40));
    summary.is_complete = false;
    world.nodes[other as usize].summaries = vec![summary];
    let text = outcome(&mut world, true).unwrap_err();
    assert!(text.contains("add a node"), "{text}");
    // One that is whole is better than nothing.
    world.nodes[other as usize].summaries = vec![world.summary((1, 30))];
    world.run(ms(20_000));
    let text = outcome(&mut world, false).unwrap_err();
    assert!(text.contains("ends at view 1 op 30"), "{text}");
    world.nodes[other as usize].summaries = Vec::new();
    world.run(ms(20_000));
    let text = outcome(&mut world, false).unwrap_err();
    assert!(text.contains("begins EMPTY"), "{text}");
}

#[test]
fn what_is_served_is_not_forced() {
    let mut world = World::with(3, 2, 1, |_| ());
    world.run(ms(3_000));
    let named = Recovery {
        partitions: vec![world.partition()],
        ..recovery(true)
    };
    let now = world.now;
    let text = world
        .controller
        .admit(now, Change::Recover(named))
        .unwrap_err();
    assert!(text.contains("is served"), "{text}");
    let other = Recovery {
        table: "nosuch".to_owned(),
        partitions: vec![PartitionId(1)],
        is_confirmed: true,
    };
    let text = world
        .controller
        .admit(now, Change::Recover(other))
        .unwrap_err();
    assert!(text.contains("does not exist"), "{text}");
}

#[test]
fn operator_is_told_who_of_the_members_does_not_answer() {
    let mut world = World::with(3, 3, 1, |attributes| {
        attributes.durability = Durability::Log;
    });
    world.run(ms(3_000));
    for node in &mut world.nodes {
        node.is_up = false;
    }
    world.run(ms(5_000));
    for node in 0..2 {
        let mut summary = world.summary((7, 12));
        summary.is_tail_sure = false;
        world.nodes[node].summaries = vec![summary];
        world.restart(node as u32);
    }
    world.run(ms(3_000));
    let text = outcome(&mut world, false).unwrap_err();
    let (_, silent) = text.split_once("no answer from: ").unwrap();
    assert!(silent.starts_with(&first(2).member.to_string()), "{text}");
}
