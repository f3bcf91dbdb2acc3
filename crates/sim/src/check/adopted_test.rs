//! A node that hears nothing of the control plane while the rest of the cluster comes to its end.

use super::behind;
use crate::clock::{Nanos, SECOND};
use crate::operator::orders::Order;
use crate::plan::Plan;
use crate::plan_in;
use crate::scenario::CALM;
use crate::world::World;

/// A cluster one of whose nodes holds nothing, and is cut off before the catalog changes once more.
fn world_with_a_node_behind() -> (World, usize) {
    let plan = Plan {
        faults: Vec::new(),
        clients: 2,
        operations: 20,
        ..plan_in(&CALM, 1)
    };
    let mut world = World::new(1, plan, false);
    run_until(&mut world, |world| world.cluster.ground.stage.is_calm);
    let node = 2;
    world.order(Order::Drain(node));
    run_until(&mut world, |world| {
        world.operator.is_done() && world.is_whole()
    });
    let process = world.cluster.machines[node].process.as_ref();
    let is_leading = process.and_then(|it| it.member()).map(|it| it.is_leading());
    assert_eq!(is_leading, Some(false), "it would not be behind");
    world.cluster.network.cut_control(node);
    world.order(Order::PauseMoves);
    world.order(Order::ResumeMoves);
    run_until(&mut world, |world| {
        world.operator.is_done() && behind(&world.cluster).is_some()
    });
    (world, node)
}

fn run_until(world: &mut World, is_there: impl Fn(&World) -> bool) {
    while !is_there(world) {
        let goes_on = world.step();
        assert!(goes_on, "{:?}", world.cluster.ground.notes.violation());
    }
}

fn run_for(world: &mut World, length: Nanos) {
    let until = world.now() + length;
    while world.now() < until && world.step() {}
}

#[test]
fn nobody_is_asked_what_it_has_before_it_acts_by_the_last_catalog() {
    let (mut world, node) = world_with_a_node_behind();
    // Meanwhile everything else is as it is wanted, and everybody has answered.
    run_for(&mut world, 20 * SECOND);
    assert!(
        world.cluster.checkers.done_at.is_some(),
        "not at its end yet"
    );
    assert!(!world.cluster.ground.stage.is_over);
    world.cluster.heal_control(node);
    world.run();
    assert_eq!(world.cluster.ground.notes.violation(), None);
    assert_eq!(behind(&world.cluster), None);
}

#[test]
fn a_node_that_never_hears_of_the_last_catalog_is_a_violation() {
    let (mut world, node) = world_with_a_node_behind();
    run_for(&mut world, 100 * SECOND);
    let violation = world.cluster.ground.notes.violation().unwrap_or_default();
    let what = format!("brick 0 of node {node} acts by catalog");
    assert!(violation.contains(&what), "{violation}");
}
